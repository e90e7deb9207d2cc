import { parseArgs } from 'node:util'
import type { Command } from 'commander'
import {
  flagOf,
  readSettings,
  type SettingName,
  type Settings,
  settingDefinitions,
  settingNames,
  variableOf,
} from '../../base/settings.ts'
import { closestName, didYouMean } from '../../base/text/closest-name.ts'
import { defaultSessions, launchHost } from '../../engine/launch-host.ts'
import { exitCodes } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'

/** Adds the flags for completion, and the help; serveCommand parses the arguments. */
export function defineServe(serve: Command): void {
  serve.helpInformation = serveHelp
  serve.option('--demo', 'Send sample traffic.')
  for (const name of settingNames) {
    const value = name === 'dataDir' || name === 'engineNode' ? '<file>' : '<value>'
    serve.option(`--${flagOf(name)} ${value}`, settingDefinitions[name].description)
  }
}

export async function serveCommand(args: string[], io: CommandIo): Promise<number> {
  const read = readServeArguments(args, io.environment)
  switch (read.kind) {
    case 'help':
      await io.stdout.write(serveHelp())
      return exitCodes.done
    case 'problems':
      for (const problem of read.problems) void io.stderr.write(`wellhead: ${problem}\n`)
      return exitCodes.usage
    case 'serve': {
      const { settings, demo } = read
      const { engineNode: node = io.node, clickhouseUrl } = settings
      const { environment } = io
      // The engine's process loads its library while this one loads the service.
      const launched = clickhouseUrl
        ? undefined
        : launchHost({ node, environment, sessions: defaultSessions })
      const { runService } = await import('./run-service.ts')
      return runService({ settings, demo, launched }, io)
    }
  }
}

type ServeArguments =
  | { kind: 'help' }
  | { kind: 'problems'; problems: string[] }
  | { kind: 'serve'; settings: Settings; demo: boolean }

/** Reads flags, which take precedence over the environment, and reports all errors together. */
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
    // Not shown: it may be a secret, the value of a mistyped flag.
    if (token.kind === 'positional') problems.push(`Argument ${token.index + 1} is unexpected.`)
    if (token.kind !== 'option') continue
    const { name, rawName, value } = token
    const setting = byFlag.get(name)
    if (name === 'help' || name === 'h') return { kind: 'help' }
    if (name === 'demo') demo = true
    else if (setting === undefined)
      problems.push(
        `Unknown flag ${rawName}.${suggestionFor(name, byFlag.keys())} List all flags with: wellhead serve --help`,
      )
    else if (value === undefined || value.startsWith('--')) problems.push(`${rawName} needs a value.`)
    else flags[setting] = value
  }
  const reading = readSettings(environment, flags)
  if ('problems' in reading) return { kind: 'problems', problems: [...problems, ...reading.problems] }
  if (problems.length > 0) return { kind: 'problems', problems }
  return { kind: 'serve', settings: reading.settings, demo }
}

function suggestionFor(name: string, flags: Iterable<string>): string {
  const closest = closestName(name, [...flags, 'demo', 'help'])
  return didYouMean(closest && `--${closest}`)
}

export function serveHelp(): string {
  const rows = settingNames.map((name) => {
    const { description, default: preset } = settingDefinitions[name]
    return `  --${flagOf(name)} <value>\n      ${description}\n      ${variableOf(name)}${preset === undefined ? '' : `, default ${preset}`}`
  })
  return `wellhead serve: run the service.

Usage
  wellhead serve [--port 4000] [--data-dir ./data] …

Each setting is a flag or an environment variable; flags take precedence. Set secrets in the environment, because other
users of a machine can see flags.

Options
  --demo
      Send sample traffic of three projects: seven days of history, then new entries every second.

Settings
${rows.join('\n')}

Signals
  SIGTERM or SIGINT: stop accepting requests, finish running ones, and exit with 0. A second signal exits immediately.

Exit codes
  0 stopped by a signal   1 failed   2 invalid flags or settings
`
}
