import {
  type FeatureSettings,
  readSettings,
  type SettingRows,
  settingsTable,
} from '../../src/core/base/settings.ts'
import type { Feature } from '../../src/feature.ts'

type Texts = Readonly<Record<string, string | undefined>>

/** Reads settings from variables and flags. */
export function settingsReader(table: SettingRows) {
  return {
    settingsOf(environment: Texts, flags: Texts = {}) {
      const reading = readSettings(table, environment, flags)
      if ('problems' in reading) throw new Error(reading.problems.join('\n'))
      return reading.settings
    },
    problemsOf(environment: Texts, flags: Texts = {}): string[] {
      const reading = readSettings(table, environment, flags)
      return 'problems' in reading ? reading.problems : []
    },
  }
}

/** Settings of core and of one feature. */
export async function settingsWith({ name, settings }: Feature): Promise<SettingRows> {
  if (!settings) throw new Error(`The feature ${name} has no settings.`)
  const ofFeature: FeatureSettings = { feature: name, after: settings.after, rows: await settings.rows() }
  return settingsTable([ofFeature])
}
