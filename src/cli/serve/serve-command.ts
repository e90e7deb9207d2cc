import { executionAsyncResource } from 'node:async_hooks'
import { type Command, InvalidArgumentError } from 'commander'
import {
  flagOf,
  readSettings,
  type SettingName,
  settingDefinitions,
  settingNames,
  variableOf,
} from '../../base/settings.ts'
import { launchHost } from '../../engine/embedded/launch-host.ts'
import { addExamples } from '../command.ts'
import { type CommandIo, usageFailure } from '../command-io.ts'

const help = `
Each setting is a flag or an environment variable; flags take precedence. Set secrets in the environment, because other
users of a machine can see flags.

SIGTERM or SIGINT: stop accepting requests, finish running ones, and exit with 0. Another signal after a second exits
immediately.
`

type ServeOptions = Partial<Record<SettingName, string>> & { demo?: boolean }

export function defineServe(serve: Command, io: CommandIo): void {
  serve.option('--demo', 'send sample traffic of three projects: seven days, then new entries every second')
  for (const name of settingNames) {
    const { description, default: preset } = settingDefinitions[name]
    const value = name === 'dataDir' || name === 'engineNode' ? 'file' : 'value'
    const source = preset === undefined ? variableOf(name) : `${variableOf(name)}, default ${preset}`
    serve.option(`--${flagOf(name)} <${value}>`, `${description} (${source})`, notFlag)
  }
  serve.addHelpText('after', help).action(async ({ demo = false, ...flags }: ServeOptions) => {
    const reading = readSettings(io.environment, flags)
    if ('problems' in reading) throw usageFailure(reading.problems.join('\n'))
    const { settings } = reading
    const { engineNode: node = io.node, clickhouseUrl } = settings
    const { environment } = io
    // The engine's process loads its library while this one loads the service.
    const launched = clickhouseUrl ? undefined : launchHost(node, environment)
    keepTickShape()
    const { runService } = await import('./run-service.ts')
    await runService({ settings, demo, launched }, io).finally(() => launched?.kill('SIGKILL'))
  })
  addExamples(serve, 'wellhead serve --port 4000 --data-dir ./data', 'wellhead serve --demo')
}

function notFlag(value: string): string {
  if (value.startsWith('--')) throw new InvalidArgumentError('The flag needs a value.')
  return value
}

const kept: object[] = []

/**
 * Keeps what one call of `process.nextTick` created, for good. V8 knows these objects by a shape that it forgets when it
 * collects garbage while none of them exists; in Node 20 each later call then takes five times as long, and a request makes
 * several. See docs/decisions/0012-cached-calls.md.
 */
function keepTickShape(): void {
  process.nextTick(() => kept.push(executionAsyncResource()))
}
