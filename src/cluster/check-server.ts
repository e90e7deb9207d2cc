import type { ClickHouseHttp, HttpRequest } from '../engine/clickhouse-http.ts'
import { neededGrants, privilegesOf } from './needed-grants.ts'
import {
  explainServerError,
  missingGrants,
  noClickHouse,
  oldestVersion,
  readOnly,
  type ServerIdentity,
  ServerProblem,
  unknownCluster,
} from './server-problem.ts'

const withinMs = 20_000
const pingWithinMs = 5_000
const maxResponseBytes = 2 ** 20

/** Runs a statement with as few settings as possible, so that a strict profile does not refuse it. */
async function askServer(http: ClickHouseHttp, sql: string): Promise<string> {
  return askWithin(withinMs, http, { body: Buffer.from(sql) })
}

/** Even a busy server responds to it. */
export async function pingServer(http: ClickHouseHttp): Promise<void> {
  await askWithin(pingWithinMs, http, { path: '/ping' })
}

async function askWithin(
  ms: number,
  http: ClickHouseHttp,
  request: Pick<HttpRequest, 'body' | 'path'>,
): Promise<string> {
  const signal = AbortSignal.timeout(ms)
  try {
    const { body } = await http.send({ ...request, maxResponseBytes, repeatable: true, signal })
    return body.toString().trimEnd()
  } catch (error) {
    if (!signal.aborted) throw error
    throw Object.assign(new Error('The server did not respond.'), { code: 'ETIMEDOUT' })
  }
}

/** Returns the version. Throws a `ServerProblem` if the service cannot use the server. */
export async function checkServer(http: ClickHouseHttp, server: ServerIdentity): Promise<string> {
  try {
    const version = await checkVersion(http, server)
    const missing = await findMissingGrants(http, server)
    if (missing.length > 0) throw new ServerProblem(server, missingGrants(missing, server.user))
    await requireCluster(http, server)
    return version
  } catch (error) {
    throw explainServerError(error, server) ?? error
  }
}

/** Returns the version of a server that is new enough and accepts writes. */
async function checkVersion(http: ClickHouseHttp, server: ServerIdentity): Promise<string> {
  // Without settings, because an old server refuses those that it does not know.
  const version = await askWithin(withinMs, http, { path: '/', body: Buffer.from('SELECT version()') })
  if (!/^\d+\.\d+\.[\w.-]+$/.test(version)) throw new ServerProblem(server, noClickHouse)
  if (isOlder(version, oldestVersion)) {
    const advice = `Upgrade it to ${oldestVersion} or newer.`
    throw new ServerProblem(server, [`ClickHouse ${version} is too old.`, advice])
  }
  if ((await askServer(http, "SELECT getSetting('readonly')")) !== '0')
    throw new ServerProblem(server, readOnly)
  return version
}

function isOlder(version: string, other: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [otherMajor = 0, otherMinor = 0] = other.split('.').map(Number)
  return major < otherMajor || (major === otherMajor && minor < otherMinor)
}

/** Grouped as in `neededGrants`. */
async function findMissingGrants(
  http: ClickHouseHttp,
  { database, cluster }: Pick<ServerIdentity, 'database' | 'cluster'>,
): Promise<string[]> {
  const exists = (await askServer(http, `EXISTS DATABASE \`${database}\``)) === '1'
  const needed = neededGrants(database, cluster, exists)
  const lacks = async (grants: readonly string[]) =>
    (await askServer(http, `CHECK GRANT ${grants.join(', ')}`)) !== '1'
  if (!(await lacks(needed))) return []
  const missing: string[] = []
  for (const grant of needed) {
    const [, target] = grant.split(' ON ')
    const privileges: string[] = []
    for (const privilege of privilegesOf(grant)) {
      if (await lacks([`${privilege} ON ${target}`])) privileges.push(privilege)
    }
    if (privileges.length > 0) missing.push(`${privileges.join(', ')} ON ${target}`)
  }
  return missing
}

/** Throws if the server does not know its cluster. */
async function requireCluster(http: ClickHouseHttp, server: ServerIdentity): Promise<void> {
  if (server.cluster === undefined) return
  const known = (
    await askServer(http, 'SELECT DISTINCT cluster FROM system.clusters ORDER BY cluster')
  ).split('\n')
  if (!known.includes(server.cluster)) {
    throw new ServerProblem(server, unknownCluster(server.cluster, known.filter(Boolean)))
  }
}
