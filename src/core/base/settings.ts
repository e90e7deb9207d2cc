import { totalmem } from 'node:os'
import { resolve } from 'node:path'
import process from 'node:process'
import { z } from 'zod'
import { parameterForm } from '../../shared/names.ts'
import { mailSender, mailServer } from './mail-server.ts'
import {
  byteSize,
  defaultRules,
  durationMs,
  isAddressList,
  isIssuer,
  isLogo,
  isOrigin,
  number,
  onOrOff,
  originList,
  text,
  wholeNumber,
} from './setting-values.ts'

/**
 * A row of the table of settings, from which flags, help and the check of docs/reference/settings.md come. Its name gives the
 * environment variable and the flag: dataDir is WELLHEAD_DATA_DIR and --data-dir.
 */
interface SettingDefinition {
  schema: z.ZodType<unknown, string>
  /** As a user would write it. */
  default?: string
  /** Completes the error message "… must be". */
  expected: string
  description: string
  secret?: true
}

/** The memory limit of a container, or the memory of the machine. */
function availableMemory(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(totalmem(), constrained) : totalmem()
}

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

const definitions = {
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
  oidcIssuer: {
    schema: z.string().refine(isIssuer),
    expected: 'an https:// URL, or an http:// URL of this machine',
    description: 'OpenID Connect issuer that people sign in with. Default: tokens only.',
  },
  oidcClientId: { schema: text, expected: 'a text', description: 'Client id of this service at the issuer.' },
  oidcClientSecret: {
    schema: text,
    expected: 'a text',
    description: 'Client secret of this service at the issuer.',
    secret: true,
  },
  oidcScopes: {
    schema: z.string().regex(/^openid( \S+)*$/),
    default: 'openid profile email',
    expected: 'openid, and further scopes separated by spaces',
    description: 'Scopes that are requested from the issuer.',
  },
  oidcGroupsClaim: {
    schema: text,
    default: 'groups',
    expected: 'the name of a claim',
    description: 'Claim with the groups of a person: a name, or a path such as realm_access.roles.',
  },
  oidcRoles: {
    schema: z
      .string()
      .regex(/^(?:\s*(?:admin|editor|viewer)\s*=[^=,]+(?:,|$))+$/)
      .transform((value) =>
        value.split(',').map((one) => {
          const [role = '', groups = ''] = one.split('=').map((part) => part.trim())
          return {
            role: role as 'admin' | 'editor' | 'viewer',
            groups: groups.split('|').map((name) => name.trim()),
          }
        }),
      ),
    expected: 'roles with groups such as admin=ops,editor=dev|data,viewer=*',
    description:
      'Groups of each role. A person gets the first role, from the left, that lists one of their groups; * is everyone.',
  },
  oidcProjectClaim: {
    schema: text,
    expected: 'the name of a claim',
    description: 'Claim with the project of a tenant. A person with this claim sees only that project.',
  },
  oidcCustomerScopes: {
    schema: z
      .string()
      .regex(/^(?:(?:search|query|(?:query|search|dashboard):[A-Za-z][A-Za-z0-9._-]{0,127})(?:[ ,]+|$))+$/)
      .transform((value) => value.split(/[ ,]+/).filter(Boolean)),
    default: 'query',
    expected:
      'query, search, query:<endpoint>, search:<source> or dashboard:<name>, or several of them separated by commas',
    description:
      'Scopes of people of tenants. With search, they also read whole entries of their project in published sources.',
  },
  oidcUnverifiedEmail: {
    schema: z.enum(['refuse', 'allow']),
    default: 'refuse',
    expected: 'refuse or allow',
    description:
      'Whether the claim email counts as a group or project if email_verified is not true. For issuers that never send it.',
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
  linkDays: {
    ...wholeNumber(1, 3650),
    default: '90',
    description: 'Maximum number of days that a link to a dashboard works.',
  },
  corsOrigins: {
    ...originList,
    description: 'Origins of web pages that may use the API, or * for all. Default: none.',
  },
  embedOrigins: {
    ...originList,
    default: '*',
    description: 'Origins of web pages that may show /embed/{name} in a frame, or * for all.',
  },
  brandName: {
    schema: z.string().trim().min(1).max(40),
    expected: 'a name of at most 40 characters',
    description: 'Your name, instead of Wellhead in the console of tenants.',
  },
  brandLogo: {
    schema: text.transform((value) => resolve(value)).refine(isLogo),
    expected: 'a PNG or SVG file of at most 256 KiB',
    description: 'Your logo, for the console of tenants and embedded pages.',
  },
  brandColor: {
    schema: z.string().regex(/^#[0-9a-f]{6}$/i),
    expected: 'a color such as #0f766e',
    description: 'Your accent color there. It is made lighter or darker where it would be hard to read.',
  },
  alertHosts: {
    schema: z
      .stringFormat('hosts', /^(?:\s*(?:(?:\*\.)?[\w.-]+|\[[\da-fA-F:.]+\])(?::\d+)?\s*(?:,|$))+$/)
      .transform((value) =>
        value
          .toLowerCase()
          .split(',')
          .map((host) => host.trim()),
      ),
    expected: 'a comma-separated list of hosts such as hooks.internal, 10.0.0.5:8080 or *.example.com',
    description:
      'Hosts that alerts may notify although their addresses are not public. Default: public addresses only.',
  },
  alertKey: {
    schema: z.string().min(32),
    expected: 'at least 32 characters',
    description:
      'Key of the secrets of webhooks. Services that share a ClickHouse server need the same one. Default: created and stored in <data>/alert-key.',
    secret: true,
  },
  smtpUrl: mailServer,
  smtpFrom: mailSender,
  defaultRules,
  mcpWrite: {
    ...onOrOff,
    default: 'off',
    description: 'Whether /mcp has the tools check_endpoint and save_endpoint for editors and admins.',
  },
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
  },
  clickhouseQuorum: {
    ...wholeNumber(1, 100),
    description:
      'Number of replicas that store entries before they are acknowledged. Default: 2, or 1 if a shard has one replica.',
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
  planParameter: {
    schema: z.string().regex(parameterForm),
    expected: 'the name of a parameter, such as project_tier',
    description:
      'Parameter of endpoints that is fixed to the name of the plan, for all tokens of a project with a plan. Default: none.',
  },
  statistics: {
    ...onOrOff,
    default: 'on',
    description: 'Records requests to endpoints for statistics, metrics and the list of slow requests.',
  },
  metrics: {
    schema: z.enum(['token', 'open']),
    default: 'token',
    expected: 'token or open',
    description: 'Who can read /metrics: token for admins, open for everyone.',
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
} satisfies Record<string, SettingDefinition>

type Definitions = typeof definitions

export type SettingName = keyof Definitions

type Value<D extends SettingDefinition> =
  | z.output<D['schema']>
  | (D extends { default: string } ? never : undefined)

export type Settings = Readonly<{ [N in SettingName]: Value<Definitions[N]> }>

export const settingDefinitions: Record<SettingName, SettingDefinition> = definitions

export const settingNames = Object.keys(settingDefinitions) as SettingName[]

export function variableOf(name: SettingName): string {
  return `WELLHEAD_${flagOf(name).replaceAll('-', '_').toUpperCase()}`
}

export function flagOf(name: SettingName): string {
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
  environment: Record<string, string | undefined>,
  flags: Partial<Record<SettingName, string | undefined>> = {},
): { settings: Settings } | { problems: string[] } {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  const known = new Set(settingNames.map(variableOf))
  for (const variable of Object.keys(environment)) {
    const ours = variable.startsWith('WELLHEAD_') && !foreignVariable.test(variable)
    if (ours && !known.has(variable) && !clientVariables.has(variable)) {
      problems.push(`${variable} is not a setting. See wellhead serve --help for all settings.`)
    }
  }
  for (const name of settingNames) {
    const definition = settingDefinitions[name]
    const flag = flags[name]
    // An empty variable counts as unset, as in most tools.
    const fromEnvironment = environment[variableOf(name)] || undefined
    const injected = name === 'port' && foreignValue.test(fromEnvironment ?? '')
    const written = flag ?? (injected ? undefined : fromEnvironment) ?? definition.default
    if (written === undefined) continue
    const parsed = definition.schema.safeParse(written)
    if (parsed.success) {
      values[name] = parsed.data
      continue
    }
    const where = flag === undefined ? variableOf(name) : `--${flagOf(name)}`
    const shown = definition.secret ? '' : `, not "${written}"`
    problems.push(`${where} must be ${definition.expected}${shown}.`)
  }
  if (problems.length > 0) return { problems }
  const settings = Object.freeze(values) as Settings
  const missing = missingSetting(settings)
  return missing === undefined ? { settings } : { problems: [missing] }
}

/** Settings that have no effect without another. */
const needs = [
  ['clickhouseCluster', 'clickhouseUrl'],
  ['clickhouseQuorum', 'clickhouseCluster'],
  ['smtpUrl', 'smtpFrom'],
  ['smtpFrom', 'smtpUrl'],
  ['oidcIssuer', 'oidcClientId'],
  ['oidcIssuer', 'oidcClientSecret'],
  ['oidcIssuer', 'publicUrl'],
] as const

function missingSetting(settings: Settings): string | undefined {
  const [name, needed] = needs.find(([one, other]) => settings[one] && !settings[other]) ?? []
  if (name && needed) return `${variableOf(name)} needs ${variableOf(needed)}.`
  if (settings.oidcIssuer === undefined) return undefined
  // Without them, nobody could sign in. Nobody has a role by default: an issuer may know the whole world.
  if (settings.oidcRoles !== undefined || settings.oidcProjectClaim !== undefined) return undefined
  return 'WELLHEAD_OIDC_ISSUER needs WELLHEAD_OIDC_ROLES or WELLHEAD_OIDC_PROJECT_CLAIM.'
}

/** Kubernetes sets such variables in every container for a service named wellhead; those with TEST are for the tests. */
const foreignVariable = /^WELLHEAD_(?:SERVICE_|PORT_\d|TEST_)/
const foreignValue = /^tcp:\/\//

/** Variables of the commands that use a service; not settings of the service. */
const clientVariables = new Set(['WELLHEAD_URL', 'WELLHEAD_TOKEN'])
