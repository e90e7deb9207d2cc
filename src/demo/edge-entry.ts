import { uuidOf } from './random.ts'
import { addressOf, type EntryMaker, type Moment, regions, userAgents } from './world.ts'

interface EdgeRequest {
  method: string
  path: string
  search: string
  success: number
  /** Statuses of its failures, with their weights. */
  failures: Record<number, number>
  failureRate: number
  medianMs: number
  contentType?: string
  cacheStatus?: string
}

function rest({ project, random }: Moment): EdgeRequest {
  const table = random.weighted(project.tables.map((name, i) => [name, 1 / (i + 1)] as const))
  const method = random.key({ GET: 12, POST: 4, PATCH: 2, DELETE: 1 })
  const filter = random.chance(0.7)
    ? `&${random.pick(['id', 'user_id', 'team_id'])}=eq.${uuidOf(random)}`
    : ''
  const search = `?select=*${filter}&order=created_at.desc&limit=${random.pick([10, 25, 50])}`
  return {
    method,
    path: `/rest/v1/${table}`,
    search: method === 'GET' ? search : '',
    success: method === 'POST' ? 201 : 200,
    failures: { 400: 2, 401: 3, 404: 2, 406: 2, 409: 1 },
    failureRate: 0.03,
    medianMs: method === 'GET' ? 24 : 41,
  }
}

function auth({ random }: Moment): EdgeRequest {
  const [method, path, search] = random.weighted([
    [['POST', '/auth/v1/token', '?grant_type=refresh_token'], 8],
    [['POST', '/auth/v1/token', '?grant_type=password'], 3],
    [['GET', '/auth/v1/user', ''], 6],
    [['POST', '/auth/v1/signup', ''], 1],
  ] as const)
  const failures = { 400: 5, 401: 3, 429: 1 }
  return { method, path, search, success: 200, failures, failureRate: 0.08, medianMs: 65 }
}

function storage({ random }: Moment): EdgeRequest {
  const [bucket, visibility, type] = random.pick([
    ['images', 'public/', 'webp'],
    ['avatars', 'public/', 'webp'],
    ['invoices', '', 'pdf'],
  ])
  const read = random.chance(0.85)
  return {
    method: read ? 'GET' : 'POST',
    path: `/storage/v1/object/${read ? visibility : ''}${bucket}/${uuidOf(random)}.${type}`,
    search: '',
    success: 200,
    failures: { 400: 1, 404: 6 },
    failureRate: 0.04,
    medianMs: read ? 38 : 140,
    contentType: 'image/webp',
    cacheStatus: random.chance(0.6) ? 'HIT' : 'DYNAMIC',
  }
}

function realtime(): EdgeRequest {
  return {
    method: 'GET',
    path: '/realtime/v1/websocket',
    search: '?vsn=1.0.0',
    success: 101,
    failures: { 403: 1 },
    failureRate: 0.01,
    medianMs: 12,
  }
}

const serverFailures = { 500: 4, 502: 1, 503: 2, 504: 1 }

/** A request at the edge, the most frequent kind of traffic. */
export const edgeEntry: EntryMaker = (moment) => {
  const { project, random, trouble } = moment
  const area = random.weighted([
    [rest, 62],
    [auth, 17],
    [storage, 14],
    [realtime, 7],
  ])
  const request = area(moment)
  const { method, path, search } = request
  const status = random.chance(trouble ? 0.12 : 0.006)
    ? Number(random.key(serverFailures))
    : random.chance(request.failureRate)
      ? Number(random.key(request.failures))
      : request.success
  const host = `${project.ref}.example.com`
  const url = `https://${host}${path}${search}`
  const { region: _, ...place } = random.weighted(regions)
  const agent = random.weighted(userAgents)
  const address = addressOf(random)
  const ray = `${random.hex(16)}-${place.colo}`
  const originMs = random.longTail(request.medianMs * (trouble ? 4 : 1), 0.7)
  const browser = agent.startsWith('Mozilla')
  return [
    `${method} | ${status} | ${address} | ${ray} | ${url} | ${agent}`,
    {
      request: {
        method,
        url,
        path,
        host,
        protocol: 'https:',
        ...(search !== '' && { search }),
        headers: {
          user_agent: agent,
          ...(browser && { referer: `https://www.${project.ref.slice(0, 8)}.example/` }),
          accept: '*/*',
          x_client_info: browser ? 'js/2.58.0' : 'server',
          cf_connecting_ip: address,
          cf_ipcountry: place.country,
          cf_ray: ray,
        },
        cf: {
          ...place,
          httpProtocol: random.key({ 'HTTP/2': 7, 'HTTP/3': 4, 'HTTP/1.1': 1 }),
          tlsCipher: random.pick(['AEAD-AES128-GCM-SHA256', 'AEAD-CHACHA20-POLY1305-SHA256']),
          tlsVersion: 'TLSv1.3',
        },
      },
      response: {
        status_code: status,
        origin_time: Math.max(1, Math.round(originMs)),
        headers: {
          content_type: (status === 200 && request.contentType) || 'application/json; charset=utf-8',
          content_length: Math.round(random.longTail(900, 1.2)),
          cf_cache_status: request.cacheStatus ?? 'DYNAMIC',
        },
      },
    },
  ]
}
