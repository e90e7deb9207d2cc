import { totalmem } from 'node:os'
import { resolve } from 'node:path'
import process from 'node:process'
import { z } from 'zod'
import {
  byteSize,
  defaultRules,
  durationMs,
  isAddressList,
  isOrigin,
  number,
  originList,
  text,
  wholeNumber,
} from './setting-values.ts'

/**
 * A row of the table of settings, from which flags, help and the check of docs/reference/settings.md come. Its name gives the
 * environment variable and the flag: dataDir is WELLHEAD_DATA_DIR and --data-dir.
 */
export interface Setting {
  schema: z.ZodType<unknown, string>
  /** As a user would write it. */
  default?: string
  /** Completes the error message "… must be". */
  expected: string
  description: string
  secret?: true
  /** Settings without which this one has no effect. One of an inner list is enough. */
  needs?: readonly (string | readonly string[])[]
}

/** Settings by name, in the order of the help. */
export type SettingRows = Readonly<Record<string, Setting>>

/** Settings of a feature. They stand after a setting of core, and before those of earlier features there. */
export interface FeatureSettings {
  feature: string
  after: CoreSetting
  rows: SettingRows
}

/** The memory limit of a container, or the memory of the machine. */
function availableMemory(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(totalmem(), constrained) : totalmem()
}

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

export const coreSettings = {
  host: {
    schema: text,
    default: '127.0.0.1',
    expected: 'an address or host name',
    description: 'Address to listen on. 0.0.0.0 accepts connections from other machines.',
  },
  port: {
    ...wholeNumber(0, 65_535),
    default: '4000',
    description: 'Port to listen on. 0 chooses a free one.',
  },
  dataDir: {
    schema: text.transform((value) => resolve(value)),
    default: './data',
    expected: 'a directory',
    description: 'Directory for all data. Created if it does not exist.',
  },
  adminToken: {
    schema: z
      .string()
      .min(16)
      .regex(/^[\x21-\x7e]+$/),
    expected: 'at least 16 printable characters without spaces',
    description: 'The admin token. Default: created at the first start and stored in <data>/admin-token.',
    secret: true,
  },
  publicUrl: {
    schema: z.string().refine(isOrigin),
    expected: 'an origin such as https://logs.example.com',
    description: 'Origin of the service as browsers see it, for example behind a proxy that ends TLS.',
  },
  sessionHours: {
    ...wholeNumber(1, 720),
    default: '12',
    description:
      'How long a session of the console lasts after its last use. It ends after twice as long in any case.',
  },
  authFailuresPerMinute: {
    ...wholeNumber(1, 1_000_000),
    default: '60',
    description:
      'Maximum number per minute of requests with an invalid token by address, and of sign-ins by address, token and person.',
  },
  corsOrigins: {
    ...originList,
    description: 'Origins of web pages that may use the API, or * for all. Default: none.',
  },
  defaultRules,
  clickhouseUrl: {
    schema: z.string().refine(isAddressList),
    expected:
      'an http:// or https:// URL, or several separated by commas (write %2C for a comma in a password)',
    description:
      'ClickHouse server to use, or several nodes of one cluster, separated by commas. Default: the embedded engine.',
    secret: true,
  },
  clickhouseUser: {
    schema: text,
    expected: 'a user name',
    description: 'User of the ClickHouse server. Overrides the user in the URL.',
  },
  clickhousePassword: {
    schema: z.string(),
    expected: 'a password',
    description: 'Password of that user. Overrides the password in the URL.',
    secret: true,
  },
  clickhouseDatabase: {
    schema: z.string().regex(/^(?!(?:system|default|information_schema)$)[a-z_]\w{0,63}$/i),
    default: 'wellhead',
    expected: 'a name of letters, digits and underscores other than system, default and information_schema',
    description:
      'Database on the ClickHouse server, one per group of services. Created if it does not exist.',
  },
  clickhouseCluster: {
    schema: z.string().regex(/^[A-Za-z_][\w-]*$/),
    expected: 'the name of a cluster',
    description: 'Name of the ClickHouse cluster. Default: a single server.',
    needs: ['clickhouseUrl'],
  },
  clickhouseQuorum: {
    ...wholeNumber(1, 100),
    description:
      'Number of replicas that store entries before they are acknowledged. Default: 2, or 1 if a shard has one replica.',
    needs: ['clickhouseCluster'],
  },
  engineMemory: {
    schema: byteSize.refine((value) => value >= 512 * 2 ** 20),
    default: `${Math.max(512, Math.floor(availableMemory() / 2 / 2 ** 20))}MiB`,
    expected: 'a size of at least 512MiB, such as 4GiB',
    description: 'Memory limit of the embedded engine. Default: half of the machine or container.',
  },
  cacheMemory: {
    schema: byteSize.refine((value) => value >= 2 ** 20),
    default: '128MiB',
    expected: 'a size of at least 1MiB, such as 256MiB',
    description: 'Memory limit of cached results. The least recently used are evicted first.',
  },
  liveStreams: {
    ...wholeNumber(1, 100_000),
    default: '1000',
    description: 'Maximum number of open live streams, shared fairly among tokens.',
  },
  diskReserve: {
    schema: byteSize,
    default: '256MiB',
    expected: 'a size, such as 1GiB',
    description: 'Free disk space below which logs are refused.',
  },
  deleteAfter: {
    schema: durationMs,
    default: '1d',
    expected: 'a duration of at most 3650d, such as 12h or 7d',
    description: 'How long entries stay on the disk after a shorter retention has hidden them.',
  },
  engineNode: {
    schema: text,
    expected: 'the path of an executable',
    description: 'Node executable of the engine process. Default: the one that runs the service.',
  },
  engineTimeoutFactor: {
    schema: number(1, 100, /^\d+(\.\d+)?$/),
    default: '1',
    expected: 'a number from 1 to 100',
    description:
      'Multiplies the time limits of waiting queries and of an engine without response. For slow machines.',
  },
  logLevel: {
    schema: z.enum(logLevels),
    default: 'info',
    expected: `one of ${logLevels.join(', ')}`,
    description: 'Minimum level of log lines.',
  },
  logFormat: {
    schema: z.enum(['auto', 'json', 'text']),
    default: 'auto',
    expected: 'auto, json or text',
    description:
      'Form of log lines: json, text for people, or auto for text on a terminal and json elsewhere.',
  },
} satisfies SettingRows

export type CoreSetting = keyof typeof coreSettings

type Value<S extends Setting> = z.output<S['schema']> | (S extends { default: string } ? never : undefined)

export type SettingValues<Rows extends SettingRows> = Readonly<{ [N in keyof Rows]: Value<Rows[N]> }>

/** Settings that core reads. The object has those of features as well, which `settingsOf` returns. */
export type Settings = SettingValues<typeof coreSettings>

/** All settings. Throws if two have the same name. */
export function settingsTable(ofFeatures: readonly FeatureSettings[]): SettingRows {
  const table: [name: string, row: Setting][] = Object.entries(coreSettings)
  const owners = new Map(table.map(([name]) => [variableOf(name), 'the core']))
  for (const { feature, after, rows } of ofFeatures) {
    const added = Object.entries(rows)
    for (const [name] of added) {
      const owner = owners.get(variableOf(name))
      if (owner) throw new Error(`The setting ${name} of the feature ${feature} is one of ${owner}, too.`)
      owners.set(variableOf(name), `the feature ${feature}`)
    }
    table.splice(table.findIndex(([name]) => name === after) + 1, 0, ...added)
  }
  return Object.fromEntries(table)
}

/** The values of settings that a feature declares. Throws if they were read without the feature. */
export function settingsOf<Rows extends SettingRows>(settings: Settings, rows: Rows): SettingValues<Rows> {
  const unread = Object.keys(rows).find((name) => rows[name]?.default !== undefined && !(name in settings))
  if (unread) throw new Error(`The setting ${unread} was not read.`)
  return settings as unknown as SettingValues<Rows>
}

export function variableOf(name: string): string {
  return `WELLHEAD_${flagOf(name).replaceAll('-', '_').toUpperCase()}`
}

export function flagOf(name: string): string {
  // The name that deployments use.
  if (name === 'engineTimeoutFactor') return 'engine-patience'
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** The engine settings of this machine, for an engine of a command; all other variables belong to a service. */
export function engineVariables(environment: Readonly<Record<string, string | undefined>>) {
  const names = (['engineMemory', 'engineNode', 'engineTimeoutFactor'] as const).map(variableOf)
  return Object.fromEntries(names.map((name) => [name, environment[name]]))
}

/** Flags override the environment, which overrides defaults. Reports all problems together. */
export function readSettings(
  table: SettingRows,
  environment: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Record<string, string | undefined>> = {},
): { settings: Settings } | { problems: string[] } {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  const known = new Set(Object.keys(table).map(variableOf))
  for (const variable of Object.keys(environment)) {
    const ours = variable.startsWith('WELLHEAD_') && !foreignVariable.test(variable)
    if (ours && !known.has(variable) && !clientVariables.has(variable)) {
      problems.push(`${variable} is not a setting. See wellhead serve --help for all settings.`)
    }
  }
  for (const [name, setting] of Object.entries(table)) {
    const flag = flags[name]
    // An empty variable counts as unset, as in most tools.
    const fromEnvironment = environment[variableOf(name)] || undefined
    const injected = name === 'port' && foreignValue.test(fromEnvironment ?? '')
    const written = flag ?? (injected ? undefined : fromEnvironment) ?? setting.default
    if (written === undefined) continue
    const parsed = setting.schema.safeParse(written)
    if (parsed.success) {
      values[name] = parsed.data
      continue
    }
    const where = flag === undefined ? variableOf(name) : `--${flagOf(name)}`
    const shown = setting.secret ? '' : `, not "${written}"`
    problems.push(`${where} must be ${setting.expected}${shown}.`)
  }
  if (problems.length > 0) return { problems }
  const missing = missingSetting(table, values)
  return missing === undefined ? { settings: Object.freeze(values) as Settings } : { problems: [missing] }
}

function missingSetting(table: SettingRows, values: Record<string, unknown>): string | undefined {
  for (const [name, { needs = [] }] of Object.entries(table)) {
    if (!values[name]) continue
    const missing = needs.map((need) => [need].flat()).find((names) => !names.some((other) => values[other]))
    if (missing) return `${variableOf(name)} needs ${missing.map(variableOf).join(' or ')}.`
  }
  return undefined
}

/** Kubernetes sets such variables in every container for a service named wellhead; those with TEST are for the tests. */
const foreignVariable = /^WELLHEAD_(?:SERVICE_|PORT_\d|TEST_)/
const foreignValue = /^tcp:\/\//

/** Variables of the commands that use a service; not settings of the service. */
const clientVariables = new Set(['WELLHEAD_URL', 'WELLHEAD_TOKEN'])
