import { parseArgs } from 'node:util'
import { flagOf, readSettings, type SettingName, type Settings, settingNames } from '../../base/settings.ts'

export type ServeArguments =
  | { kind: 'help' }
  | { kind: 'problems'; problems: string[] }
  | { kind: 'serve'; settings: Settings; demo: boolean }

/** Reads the flags of `wellhead serve` over the environment. */
export function readServeArguments(
  args: string[],
  environment: Record<string, string | undefined>,
): ServeArguments {
  const byFlag = new Map(settingNames.map((name) => [flagOf(name), name]))
  const { tokens } = parseArgs({
    args,
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      demo: { type: 'boolean' },
      ...Object.fromEntries([...byFlag.keys()].map((flag) => [flag, { type: 'string' as const }])),
    },
  })
  const problems: string[] = []
  const flags: Partial<Record<SettingName, string>> = {}
  let demo = false
  for (const token of tokens) {
    // Not repeated here: it may be the value of a mistyped flag, and a secret.
    if (token.kind === 'positional') problems.push(`Argument ${token.index + 1} belongs to no flag of serve.`)
    if (token.kind !== 'option') continue
    if (token.name === 'help' || token.name === 'h') return { kind: 'help' }
    if (token.name === 'demo') {
      demo = true
      continue
    }
    const name = byFlag.get(token.name)
    if (name === undefined)
      problems.push(`${token.rawName} is no flag of serve. wellhead serve --help lists them.`)
    else if (token.value === undefined || token.value.startsWith('--'))
      problems.push(`${token.rawName} needs a value.`)
    else flags[name] = token.value
  }
  const reading = readSettings(environment, flags)
  if ('problems' in reading) problems.push(...reading.problems)
  if (problems.length > 0) return { kind: 'problems', problems }
  return { kind: 'serve', settings: (reading as { settings: Settings }).settings, demo }
}
