import { withBuiltInSources } from './core/catalog/built-in-sources.ts'
import { features } from './features.ts'

/** The sources of core and of all features, which exist from the first start. */
export const builtInSources = withBuiltInSources(features.flatMap(({ sources = [] }) => sources))
