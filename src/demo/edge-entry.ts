import { uuidOf } from './random.ts'
import { addressOf, type EntryMaker, type Moment, regions, userAgents } from './world.ts'

interface Call {
  method: string
  path: string
  search: string
  /** Statuses beside 200 or 201 that belong to such a call. */
  failures: readonly (readonly [number, number])[]
  failureRate: number
  medianMs: number
}

const restFailures = [
  [401, 3],
  [404, 2],
  [406, 2],
  [409, 1],
  [400, 2],
] as const

function rest({ project, random }: Moment): Call {
  const table = random.weighted(project.tables.map((name, i) => [name, 1 / (i + 1)] as const))
  const method = random.weighted([
    ['GET', 12],
    ['POST', 4],
    ['PATCH', 2],
    ['DELETE', 1],
  ])
  const search = method === 'GET' ? `?select=*&order=created_at.desc&limit=${random.pick([10, 25, 50])}` : ''
  return {
    method,
    path: `/rest/v1/${table}`,
    search,
    failures: restFailures,
    failureRate: 0.03,
    medianMs: method === 'GET' ? 24 : 41,
  }
}

function auth({ random }: Moment): Call {
  const [method, path, search] = random.weighted([
    [['POST', '/auth/v1/token', '?grant_type=refresh_token'], 8],
    [['POST', '/auth/v1/token', '?grant_type=password'], 3],
    [['GET', '/auth/v1/user', ''], 6],
    [['POST', '/auth/v1/signup', ''], 1],
  ] as const)
  const failures = [
    [400, 5],
    [401, 3],
    [429, 1],
  ] as const
  return { method, path, search, failures, failureRate: 0.08, medianMs: 65 }
}

function storage({ random }: Moment): Call {
  const bucket = random.pick(['images', 'avatars', 'invoices'])
  const read = random.chance(0.85)
  return {
    method: read ? 'GET' : 'POST',
    path: `/storage/v1/object/${read && bucket !== 'invoices' ? 'public/' : ''}${bucket}/${random.hex(8)}.${bucket === 'invoices' ? 'pdf' : 'webp'}`,
    search: '',
    failures: [
      [404, 6],
      [400, 1],
    ],
    failureRate: 0.04,
    medianMs: read ? 38 : 140,
  }
}

function realtime(): Call {
  return {
    method: 'GET',
    path: '/realtime/v1/websocket',
    search: '?vsn=1.0.0',
    failures: [[403, 1]],
    failureRate: 0.01,
    medianMs: 12,
  }
}

const serverFailures = [
  [500, 4],
  [502, 1],
  [503, 2],
  [504, 1],
] as const

/** A request at the edge: what the most traffic is. */
export const edgeEntry: EntryMaker = (moment) => {
  const { project, random, trouble } = moment
  const area = random.weighted([
    [rest, 62],
    [auth, 17],
    [storage, 14],
    [realtime, 7],
  ])
  const call = area(moment)
  const broken = random.chance(trouble ? 0.12 : 0.006)
  const status = broken
    ? random.weighted(serverFailures)
    : random.chance(call.failureRate)
      ? random.weighted(call.failures)
      : area === realtime
        ? 101
        : call.method === 'POST' && area === rest
          ? 201
          : 200
  const host = `${project.ref}.example.com`
  const url = `https://${host}${call.path}${call.search}`
  const region = random.weighted(regions)
  const agent = random.weighted(userAgents)
  const address = addressOf(random)
  const ray = `${random.hex(16)}-${region.colo}`
  const originMs = random.longTail(call.medianMs * (trouble ? 4 : 1), 0.7)
  const browser = agent.startsWith('Mozilla')
  return {
    id: uuidOf(random),
    project: project.ref,
    event_message: `${call.method} | ${status} | ${address} | ${ray} | ${url} | ${agent}`,
    metadata: {
      request: {
        method: call.method,
        url,
        path: call.path,
        host,
        protocol: 'https:',
        ...(call.search !== '' && { search: call.search }),
        headers: {
          user_agent: agent,
          ...(browser && { referer: `https://www.${project.ref.slice(0, 8)}.example/` }),
          accept: '*/*',
          x_client_info: browser ? 'js/2.58.0' : 'server',
          cf_connecting_ip: address,
          cf_ray: ray,
        },
        cf: {
          country: region.country,
          city: region.city,
          colo: region.colo,
          httpProtocol: random.weighted([
            ['HTTP/2', 7],
            ['HTTP/3', 4],
            ['HTTP/1.1', 1],
          ]),
          tlsVersion: 'TLSv1.3',
        },
      },
      response: {
        status_code: status,
        origin_time: Math.max(1, Math.round(originMs)),
        headers: {
          content_type: area === storage && status === 200 ? 'image/webp' : 'application/json; charset=utf-8',
          content_length: Math.round(random.longTail(900, 1.2)),
          cf_cache_status: area === storage && random.chance(0.6) ? 'HIT' : 'DYNAMIC',
        },
      },
    },
  }
}
