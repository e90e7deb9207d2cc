import { diskFull, engineUnavailable, queryTimeout, WellheadError } from '../base/errors.ts'
import { StartProblem } from '../base/files/data-directory.ts'
import { trimEndOf } from '../base/text/trim-end.ts'
import { ClickHouseError } from '../engine/clickhouse-http.ts'
import { grantStatement } from './needed-grants.ts'

/** Whom a problem concerns. */
export interface ServerIdentity {
  url: URL
  user: string
  database: string
  cluster?: string | undefined
}

/** A ClickHouse server cannot be used for a reason that its operator can fix. */
export class ServerProblem extends StartProblem {
  /** Without the address and the user, because anybody can read it in `/ready`. */
  readonly reason: string
  readonly advice: string
  /** Whether nothing is known about the server itself, because it does not respond. */
  readonly isAway: boolean

  constructor(
    { url }: Pick<ServerIdentity, 'url'>,
    [reason, advice, isAway]: Explanation,
    options?: ErrorOptions,
  ) {
    super(`${url.origin}: ${reason} ${advice}`, options)
    this.reason = reason
    this.advice = advice
    this.isAway = isAway === 'away'
  }
}

type Explanation = readonly [reason: string, advice: string, isAway?: 'away']

const refusedUser: Explanation = [
  'ClickHouse refused the user or the password.',
  'Correct WELLHEAD_CLICKHOUSE_USER and WELLHEAD_CLICKHOUSE_PASSWORD.',
]
const fullDisk: Explanation = [
  'The disk of the ClickHouse server is full.',
  'Free disk space there, add a disk, or shorten the retention of sources.',
]
const noResponse: Explanation = [
  'ClickHouse does not respond.',
  'Check that it is running, the network, and WELLHEAD_CLICKHOUSE_URL.',
  'away',
]

/** Without a cluster, each of several servers would store a part of the entries. */
export function otherServer(database: string): Explanation {
  return [
    `This is not the server of the other addresses: its database ${database} is another one.`,
    'Name one server in WELLHEAD_CLICKHOUSE_URL, or their cluster in WELLHEAD_CLICKHOUSE_CLUSTER.',
  ]
}

export const missingTables: Explanation = [
  'The tables of Wellhead are missing on this node.',
  'Restart a service whose WELLHEAD_CLICKHOUSE_URL also has a node with tables. If this node lost its data, see "Replacing a ' +
    'node" in docs/cluster.md.',
]

export const noClickHouse: Explanation = [
  'This is an HTTP server, but not ClickHouse.',
  'Set WELLHEAD_CLICKHOUSE_URL to the HTTP port of ClickHouse, usually 8123, or 8443 with TLS.',
]

const unreachable = new Set(
  'ECONNREFUSED ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH ECONNRESET EPROTO CERT_HAS_EXPIRED'.split(' '),
)

/** What to do, by the start of a code of Node; Node says what is wrong. */
const connectionAdvice: readonly (readonly [code: string, advice: string])[] = [
  ['ECONNRESET', 'If its port expects TLS, use https:// in WELLHEAD_CLICKHOUSE_URL.'],
  ['EPROTO', 'Use http:// in WELLHEAD_CLICKHOUSE_URL, or the HTTPS port, usually 8443.'],
  ['ERR_SSL_', 'Use http:// in WELLHEAD_CLICKHOUSE_URL, or the HTTPS port, usually 8443.'],
  ['ERR_TLS_', 'Use the name in its certificate in WELLHEAD_CLICKHOUSE_URL.'],
  ['DEPTH_ZERO_', 'Set NODE_EXTRA_CA_CERTS to the PEM file of its authority.'],
  ['SELF_SIGNED_', 'Set NODE_EXTRA_CA_CERTS to the PEM file of its authority.'],
  ['UNABLE_TO_', 'Set NODE_EXTRA_CA_CERTS to the PEM file of its authority.'],
]

function explainConnection(code: string, message: string): Explanation | undefined {
  if (code === 'ETIMEDOUT') return noResponse
  const advice = connectionAdvice.find(([start]) => code.startsWith(start))?.[1]
  if (advice === undefined && !unreachable.has(code)) return undefined
  return ['Cannot connect to ClickHouse.', `${sentence(message)} ${advice ?? noResponse[1]}`, 'away']
}

/**
 * By code of ClickHouse: problems of the server, its user or its cluster. The others are problems of a statement, and
 * undefined here.
 */
const refusals: Record<number, (server: ServerIdentity, message: string) => Explanation> = {
  164: () => readOnly,
  192: () => refusedUser,
  193: () => refusedUser,
  194: () => refusedUser,
  243: () => fullDisk,
  497: ({ user }, message) => lackingGrant(message, user),
  516: () => refusedUser,
  701: ({ cluster }) => unknownCluster(cluster),
}

/** Codes whose message says enough. */
const passedOn = new Set([81, 115, 139, 195, 210, 225, 242, 253, 392, 452, 999])

/** The oldest supported release, with long-term support. */
export const oldestVersion = '25.3'

export const readOnly: Explanation = [
  'The ClickHouse user is read-only.',
  'Set readonly to 0 in its settings profile, or use another user.',
]

export function unknownCluster(cluster = '', known?: readonly string[]): Explanation {
  const list = known === undefined ? '' : `: ${known.join(', ') || 'none'}`
  return [
    `ClickHouse has no cluster named ${cluster}.`,
    `Set WELLHEAD_CLICKHOUSE_CLUSTER to one of its clusters${list}.`,
  ]
}

function lackingGrant(message: string, user: string): Explanation {
  const grant = message
    .split('necessary to have the grant ')[1]
    ?.split('. (Missing permissions: ')[0]
    ?.replace(/\.$/, '')
  return missingGrants(grant === undefined ? [] : [grant.replace(/\([^()]*\)/g, '')], user)
}

/** Grants as in `SELECT, INSERT ON wellhead.*`. */
export function missingGrants(grants: readonly string[], user: string): Explanation {
  return [
    'The ClickHouse user lacks a grant.',
    grants.length === 0
      ? 'See docs/cluster.md for all grants.'
      : `Run: ${grants.map((grant) => grantStatement(grant, user)).join('; ')}`,
  ]
}

const maxQuotedLength = 200

/** The first line of a message, as a sentence. */
function sentence(message: string): string {
  return `${trimEndOf((message.split('\n')[0] ?? '').slice(0, maxQuotedLength), ' .')}.`
}

/** Undefined if the error is not about the server. */
export function explainServerError(error: unknown, server: ServerIdentity): ServerProblem | undefined {
  if (error instanceof ServerProblem) return error
  const explanation = explain(error, server)
  return explanation && new ServerProblem(server, explanation, { cause: error })
}

function explain(error: unknown, server: ServerIdentity): Explanation | undefined {
  if (diskFull.is(error)) return fullDisk
  if (queryTimeout.is(error)) return noResponse
  if (!(error instanceof Error)) return undefined
  const { code, message, cause } = error as Error & { code?: unknown }
  if (error instanceof ClickHouseError) return explainRefusal(error.code, message, server)
  // An error of SQL has the text that its cause lacks.
  if (cause instanceof ClickHouseError) {
    return explainRefusal(cause.code, code === 'invalid_query' ? message : cause.message, server)
  }
  const status = /^HTTP status (\d+): (.*)/s.exec(message)
  if (status) return explainStatus(Number(status[1]), status[2] ?? '')
  if (typeof code === 'string') {
    if (code.startsWith('HPE_')) return noClickHouse
    const known = explainConnection(code, message)
    if (known) return known
  }
  return cause === undefined ? undefined : explain(cause, server)
}

function explainRefusal(code: number, message: string, server: ServerIdentity): Explanation | undefined {
  if (!passedOn.has(code)) return refusals[code]?.(server, message.trim())
  return [
    'ClickHouse refused a statement of the service.',
    `It says: ${sentence(message)} See docs/cluster.md.`,
  ]
}

function explainStatus(status: number, body: string): Explanation {
  if (body.includes('is for clickhouse-client program')) {
    return [
      'This is the native port of ClickHouse.',
      'Set WELLHEAD_CLICKHOUSE_URL to its HTTP port, usually 8123, or 8443 with TLS.',
    ]
  }
  if (status === 401 || status === 403) return refusedUser
  if (status >= 502 && status <= 504) {
    return [
      `A proxy responded with HTTP status ${status}.`,
      'Check that ClickHouse is running behind it.',
      'away',
    ]
  }
  return noClickHouse
}

/** Codes that concern the server or its user, not the statement. */
const faults = new Set([192, 193, 194, 195, 452, 497, 516, 701])

/** The error of a statement that the server refused for a reason other than the statement, so that the server must be checked. */
export function serverFault(error: unknown, server: ServerIdentity): WellheadError | undefined {
  if (!(error instanceof WellheadError && error.cause instanceof ClickHouseError)) return undefined
  const { code, type } = error.cause
  if (!faults.has(code)) return undefined
  const reason = explainServerError(error, server)?.reason ?? error.message
  return engineUnavailable(reason, new ClickHouseError({ message: error.message, code, type }))
}
