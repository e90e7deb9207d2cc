import { diskFull, engineUnavailable, queryTimeout, WellheadError } from '../../base/errors.ts'
import { StartProblem } from '../../base/files/data-directory.ts'
import { trimEndOf } from '../../base/text/trim-end.ts'
import { ClickHouseError } from '../clickhouse-http.ts'
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

const checkUrl = 'Check WELLHEAD_CLICKHOUSE_URL.'
const checkNetwork = 'Check that ClickHouse is running, the network, and WELLHEAD_CLICKHOUSE_URL.'
const refusedUser: Explanation = [
  'ClickHouse refused the user or the password.',
  'Correct WELLHEAD_CLICKHOUSE_USER and WELLHEAD_CLICKHOUSE_PASSWORD.',
]
const unknownAuthority: Explanation = [
  'The TLS certificate of ClickHouse is signed by an unknown authority.',
  'Set NODE_EXTRA_CA_CERTS to the PEM file of that authority.',
]
const fullDisk: Explanation = [
  'The disk of the ClickHouse server is full.',
  'Free disk space there, add a disk, or shorten the retention of sources.',
]
const noResponse: Explanation = ['ClickHouse does not respond.', checkNetwork, 'away']

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

/** By code of Node. */
const connectionProblems: Record<string, Explanation> = {
  ECONNREFUSED: ['Cannot connect to ClickHouse.', checkNetwork],
  ENOTFOUND: [
    'The host name of ClickHouse cannot be resolved.',
    `${checkUrl} If it is correct, check the DNS.`,
  ],
  EAI_AGAIN: [
    'The host name of ClickHouse cannot be resolved.',
    `${checkUrl} If it is correct, check the DNS.`,
  ],
  ETIMEDOUT: noResponse,
  EHOSTUNREACH: noResponse,
  ENETUNREACH: noResponse,
  ECONNRESET: [
    'The server closed the connection.',
    'If its port expects TLS, use https:// in WELLHEAD_CLICKHOUSE_URL.',
  ],
  EPROTO: [
    'The server does not speak TLS.',
    'Use http:// in WELLHEAD_CLICKHOUSE_URL, or the HTTPS port, usually 8443.',
  ],
  CERT_HAS_EXPIRED: ['The TLS certificate of ClickHouse has expired.', 'Renew it.'],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'The TLS certificate of ClickHouse is for another host name.',
    'Use the name in the certificate in WELLHEAD_CLICKHOUSE_URL.',
  ],
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
}

/** By code of ClickHouse. */
const refusals: Record<number, (server: ServerIdentity, message: string) => Explanation> = {
  81: ({ database }) => [
    `The database ${database} does not exist.`,
    `Run CREATE DATABASE ${database}, and restart Wellhead.`,
  ],
  115: (_server, message) => [
    `ClickHouse does not know a setting: ${message}.`,
    `Use ClickHouse ${oldestVersion} or newer.`,
  ],
  139: (_server, message) => [
    `The configuration of ClickHouse lacks an element: ${message}.`,
    'A cluster needs the macros shard and replica, and a keeper; see docs/cluster.md.',
  ],
  164: () => readOnly,
  192: () => refusedUser,
  193: () => refusedUser,
  194: () => refusedUser,
  195: () => ['ClickHouse does not accept this user from this address.', 'Allow it with ALTER USER … HOST.'],
  210: (_server, message) => [
    `A node of the cluster cannot be reached: ${message}.`,
    'Check its nodes and the network.',
  ],
  225: () => ['The ClickHouse server has no keeper.', 'Configure one; replicated tables need it.'],
  242: () => ['A table of ClickHouse is read-only.', 'Check the keepers and system.replicas.'],
  243: () => fullDisk,
  253: () => [
    'A table cannot be created: the keeper still has this replica of it.',
    'If the node lost its data, see "Replacing a node" in docs/cluster.md.',
  ],
  392: () => [
    'ClickHouse does not allow this user to change tables.',
    'Set allow_ddl and allow_distributed_ddl to 1 in its settings profile.',
  ],
  452: (_server, message) => [
    `The settings profile of the ClickHouse user is too strict: ${message}.`,
    'Remove that constraint.',
  ],
  497: ({ user }, message) => lackingGrant(message, user),
  516: () => refusedUser,
  701: ({ cluster }) => unknownCluster(cluster),
  999: () => [
    'The keeper of ClickHouse cannot be reached.',
    'Check the keepers; most of them must be running.',
  ],
}

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
    const known = connectionProblems[code.startsWith('ERR_SSL_') ? 'EPROTO' : code]
    if (known) return [known[0], known[1], 'away']
  }
  return cause === undefined ? undefined : explain(cause, server)
}

function explainRefusal(code: number, message: string, server: ServerIdentity): Explanation | undefined {
  const quoted = trimEndOf((message.split('\n')[0] ?? '').slice(0, maxQuotedLength), ' .')
  return refusals[code]?.(server, code === 497 ? message.trim() : quoted)
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
