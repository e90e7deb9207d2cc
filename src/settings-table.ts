import { onFirstUse } from './core/base/on-first-use.ts'
import { settingsTable } from './core/base/settings.ts'
import { features } from './features.ts'

/** All settings of core and of features, in the order of the help. */
export const loadSettings = onFirstUse(async () => {
  const ofFeatures = features.map(async ({ name: feature, settings }) =>
    settings ? [{ feature, after: settings.after, rows: await settings.rows() }] : [],
  )
  return settingsTable((await Promise.all(ofFeatures)).flat())
})
