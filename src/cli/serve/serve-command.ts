import { type Command, InvalidArgumentError } from 'commander'
import { flagOf, readSettings, type SettingRows, variableOf } from '../../core/base/settings.ts'
import { launchHost } from '../../core/engine/embedded/launch-host.ts'
import { features } from '../../features.ts'
import { addExamples } from '../kit/command.ts'
import { type CommandIo, usageFailure } from '../kit/command-io.ts'
import { sampleDataDir } from '../kit/find-service.ts'

const help = `
Each setting is a flag or an environment variable; flags take precedence. Set secrets in the environment, because other
users of a machine can see flags.

SIGTERM or SIGINT: stop accepting requests, finish running ones, and exit with 0. Another signal after a second exits
immediately.
`

type ServeOptions = Record<string, string | undefined>

export const defineServe = (table: SettingRows) => (serve: Command, io: CommandIo) => {
  const available = features.find((feature) => feature.samples)?.samples
  if (available) serve.option(`--${available.flag}`, available.description)
  for (const [name, { description, default: preset }] of Object.entries(table)) {
    const value = name === 'dataDir' || name === 'engineNode' ? 'file' : 'value'
    const source = preset === undefined ? variableOf(name) : `${variableOf(name)}, default ${preset}`
    serve.option(`--${flagOf(name)} <${value}>`, `${description} (${source})`, notFlag)
  }
  serve.addHelpText('after', help).action(async (options: ServeOptions) => {
    const { [available?.flag ?? '']: wantsSamples, ...flags } = options
    const samples = wantsSamples ? available : undefined
    const isApart = samples && !flags.clickhouseUrl && !io.environment.WELLHEAD_CLICKHOUSE_URL
    const dataDir =
      flags.dataDir ?? (io.environment.WELLHEAD_DATA_DIR || (isApart ? sampleDataDir : undefined))
    const reading = readSettings(table, io.environment, { ...flags, dataDir })
    if ('problems' in reading) throw usageFailure(reading.problems.join('\n'))
    const { settings } = reading
    const { engineNode: node = io.node, clickhouseUrl } = settings
    const { environment } = io
    // The engine's process loads its library while this one loads the service.
    const launched = clickhouseUrl ? undefined : launchHost(node, environment)
    const { runService } = await import('./run-service.ts')
    await runService({ settings, samples, launched }, io).finally(() => launched?.kill('SIGKILL'))
  })
  const sampleExamples = available ? [`wellhead serve --${available.flag}`] : []
  addExamples(serve, 'wellhead serve --port 4000 --data-dir ./data', ...sampleExamples)
}

function notFlag(value: string): string {
  if (value.startsWith('--')) throw new InvalidArgumentError('The flag needs a value.')
  return value
}
