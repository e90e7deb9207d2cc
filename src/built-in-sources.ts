import { withBuiltInSources } from './core/catalog/built-in-sources.ts'
import type { NewSource } from './core/catalog/source.ts'
import type { Feature } from './feature.ts'
import { features } from './features.ts'

/** The sources of core and of features, which exist from the first start. */
export function builtInSourcesOf(ofFeatures: readonly Feature[]): NewSource[] {
  return withBuiltInSources(ofFeatures.flatMap(({ sources = [] }) => sources))
}

export const builtInSources = builtInSourcesOf(features)
