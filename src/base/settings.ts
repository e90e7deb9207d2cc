import { totalmem } from 'node:os'
import { resolve } from 'node:path'
import process from 'node:process'
import { z } from 'zod'

/**
 * Every setting with its default and its words, in one place. The flags, the help text and the check of
 * docs/settings.md all come from this table.
 */
interface SettingDefinition<T, D extends string | undefined = string | undefined> {
  /** Name of the environment variable; the flag is made from it (WELLHEAD_DATA_DIR → --data-dir). */
  env: `WELLHEAD_${string}`
  schema: z.ZodType<T, string>
  /** As a person would write it; undefined where absence means something of its own. */
  default: D
  /** What a person should write. */
  expected: string
  description: string
  secret?: true
}

function setting<T, D extends string | undefined>(
  definition: SettingDefinition<T, D>,
): SettingDefinition<T, D> {
  return definition
}

const text = z.string().min(1)

const port = z
  .string()
  .regex(/^\d{1,5}$/)
  .transform(Number)
  .refine((value) => value <= 65_535)

const byteUnits = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 } as const

const byteSize = z
  .string()
  .regex(/^\d+(\.\d+)?\s*([kmgt]i?b?|b)?$/i)
  .transform((value) => {
    const unit = (/[kmgt]/i.exec(value)?.[0].toLowerCase() ?? '') as keyof typeof byteUnits
    return Math.floor(Number.parseFloat(value) * byteUnits[unit])
  })

const onOrOff = z.enum(['on', 'off']).transform((value) => value === 'on')

/** Origins as browsers send them, so that comparing texts is enough; or the star alone, for all of them. */
const originList = z
  .string()
  .transform((value) => value.split(',').map((origin) => origin.trim()))
  .refine((origins) => (origins.length === 1 && origins[0] === '*') || origins.every(isOrigin))

function isOrigin(text: string): boolean {
  return /^https?:[^*]*$/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

/** What a container may use, where it is less than what its machine has. */
function availableMemory(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(totalmem(), constrained) : totalmem()
}

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

export const settingDefinitions = {
  host: setting({
    env: 'WELLHEAD_HOST',
    schema: text,
    default: '127.0.0.1',
    expected: 'an address or host name',
    description: 'Address to listen on. 0.0.0.0 makes the service reachable from other machines.',
  }),
  port: setting({
    env: 'WELLHEAD_PORT',
    schema: port,
    default: '4000',
    expected: 'a whole number from 0 to 65535',
    description: 'Port to listen on. 0 takes any free one.',
  }),
  dataDir: setting({
    env: 'WELLHEAD_DATA_DIR',
    schema: text.transform((value) => resolve(value)),
    default: './data',
    expected: 'a directory',
    description: 'Everything the service keeps. Made if it is not there.',
  }),
  adminToken: setting({
    env: 'WELLHEAD_ADMIN_TOKEN',
    schema: z
      .string()
      .min(16)
      .regex(/^[\x21-\x7e]+$/),
    default: undefined,
    expected: 'at least 16 printable characters without spaces',
    description: 'The admin token. Unset: made at the first start and kept in <data>/admin-token.',
    secret: true,
  }),
  authFailuresPerMinute: setting({
    env: 'WELLHEAD_AUTH_FAILURES_PER_MINUTE',
    schema: z
      .string()
      .regex(/^\d{1,7}$/)
      .transform(Number)
      .refine((value) => value >= 1 && value <= 1_000_000),
    default: '60',
    expected: 'a whole number from 1 to 1000000',
    description:
      'Requests with an invalid token that one client address may make a minute; further ones get 429. Valid tokens are not limited.',
  }),
  corsOrigins: setting({
    env: 'WELLHEAD_CORS_ORIGINS',
    schema: originList,
    default: undefined,
    expected: 'origins such as https://app.example.com, with commas between them, or *',
    description: 'Origins of pages in browsers that may call the service. Unset: none.',
  }),
  clickhouseUrl: setting({
    env: 'WELLHEAD_CLICKHOUSE_URL',
    schema: z.string().refine((value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)),
    default: undefined,
    expected: 'an http:// or https:// address',
    description: 'A ClickHouse server to use. Unset: the embedded engine.',
    secret: true,
  }),
  clickhouseUser: setting({
    env: 'WELLHEAD_CLICKHOUSE_USER',
    schema: text,
    default: undefined,
    expected: 'a user name',
    description: 'User of the ClickHouse server. It wins over the one in the address.',
  }),
  clickhousePassword: setting({
    env: 'WELLHEAD_CLICKHOUSE_PASSWORD',
    schema: z.string(),
    default: undefined,
    expected: 'a password',
    description: 'Password of that user. It wins over the one in the address.',
    secret: true,
  }),
  clickhouseCluster: setting({
    env: 'WELLHEAD_CLICKHOUSE_CLUSTER',
    schema: z.string().regex(/^[A-Za-z_][\w-]*$/),
    default: undefined,
    expected: 'the name of a cluster',
    description: 'Name of the ClickHouse cluster. Unset: a single server.',
  }),
  engineMemory: setting({
    env: 'WELLHEAD_ENGINE_MEMORY',
    schema: byteSize.refine((value) => value >= 512 * 2 ** 20),
    default: `${Math.max(512, Math.floor(availableMemory() / 2 / 2 ** 20))}MiB`,
    expected: 'a size of at least 512MiB, such as 4GiB',
    description: 'Memory that the embedded engine may use. The default is half of what the machine has.',
  }),
  cacheMemory: setting({
    env: 'WELLHEAD_CACHE_MEMORY',
    schema: byteSize.refine((value) => value >= 2 ** 20),
    default: '128MiB',
    expected: 'a size of at least 1MiB, such as 256MiB',
    description: 'Memory for cached results, over all of their forms. The least recently used go first.',
  }),
  liveStreams: setting({
    env: 'WELLHEAD_LIVE_STREAMS',
    schema: z
      .string()
      .regex(/^\d{1,6}$/)
      .transform(Number)
      .refine((value) => value >= 1 && value <= 100_000),
    default: '1000',
    expected: 'a whole number from 1 to 100000',
    description: 'Streams of results and entries that may be open at once, shared fairly among tokens.',
  }),
  diskReserve: setting({
    env: 'WELLHEAD_DISK_RESERVE',
    schema: byteSize,
    default: '256MiB',
    expected: 'a size, such as 1GiB',
    description: 'Logs are refused while less than this is free on the disk of the data directory.',
  }),
  engineNode: setting({
    env: 'WELLHEAD_ENGINE_NODE',
    schema: text,
    default: undefined,
    expected: 'the path of an executable',
    description: 'Node executable that runs the engine process. Unset: the one that runs the service.',
  }),
  enginePatience: setting({
    env: 'WELLHEAD_ENGINE_PATIENCE',
    schema: z
      .string()
      .regex(/^\d+(\.\d+)?$/)
      .transform(Number)
      .refine((value) => value >= 1 && value <= 100),
    default: '1',
    expected: 'a number from 1 to 100',
    description: 'Factor on how long queries wait and until the engine counts as hanging. For slow machines.',
  }),
  statistics: setting({
    env: 'WELLHEAD_STATISTICS',
    schema: onOrOff,
    default: 'on',
    expected: 'on or off',
    description: 'Whether calls are written down, for statistics, metrics of calls and slow calls.',
  }),
  metrics: setting({
    env: 'WELLHEAD_METRICS',
    schema: z.enum(['token', 'open']),
    default: 'token',
    expected: 'token or open',
    description: 'Who may read /metrics: admins, or, with open, everybody who reaches the service.',
  }),
  logLevel: setting({
    env: 'WELLHEAD_LOG_LEVEL',
    schema: z.enum(logLevels),
    default: 'info',
    expected: `one of ${logLevels.join(', ')}`,
    description: 'How much is written to the log.',
  }),
} satisfies Record<string, SettingDefinition<unknown>>

type Definitions = typeof settingDefinitions

export type SettingName = keyof Definitions

type Value<D> =
  D extends SettingDefinition<infer T, infer Default> ? (Default extends string ? T : T | undefined) : never

export type Settings = Readonly<{ [N in SettingName]: Value<Definitions[N]> }>

export function flagOf(name: SettingName): string {
  return settingDefinitions[name].env.replace('WELLHEAD_', '').toLowerCase().replaceAll('_', '-')
}

export const settingNames = Object.keys(settingDefinitions) as SettingName[]

export type SettingsReading = { settings: Settings } | { problems: string[] }

/** Reads flags over environment over defaults, and tells every problem at once. */
export function readSettings(
  environment: Record<string, string | undefined>,
  flags: Partial<Record<SettingName, string>> = {},
): SettingsReading {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  const known = new Set<string>(settingNames.map((name) => settingDefinitions[name].env))
  for (const variable of Object.keys(environment)) {
    const ours = variable.startsWith('WELLHEAD_') && !foreignVariable.test(variable)
    if (ours && !known.has(variable) && !clientVariables.has(variable)) {
      problems.push(`${variable} is not a setting. wellhead serve --help lists them.`)
    }
  }
  for (const name of settingNames) {
    const definition: SettingDefinition<unknown> = settingDefinitions[name]
    const flag = flags[name]
    // An empty variable counts as unset, as in most tools that read the environment.
    const fromEnvironment = environment[definition.env] || undefined
    const injected = name === 'port' && foreignValue.test(fromEnvironment ?? '')
    const given = flag ?? (injected ? undefined : fromEnvironment)
    const written = given ?? definition.default
    if (written === undefined) continue
    const parsed = definition.schema.safeParse(written)
    if (parsed.success) {
      values[name] = parsed.data
      continue
    }
    const where = flag === undefined ? definition.env : `--${flagOf(name)}`
    const shown = definition.secret ? 'something else was given' : `"${written}" was given`
    problems.push(`${where} must be ${definition.expected}; ${shown}.`)
  }
  if (problems.length > 0) return { problems }
  return { settings: Object.freeze(values) as Settings }
}

/** Kubernetes gives every container such variables for a service that is called wellhead. */
const foreignVariable = /^WELLHEAD_(?:SERVICE_|PORT_\d)/
const foreignValue = /^tcp:\/\//

/** Variables that the commands talking to a service read; they are no settings of the service. */
const clientVariables = new Set(['WELLHEAD_URL', 'WELLHEAD_TOKEN'])
