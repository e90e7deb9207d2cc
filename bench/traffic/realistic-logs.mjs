/**
 * Entries as an edge in front of many projects writes them. The same seed gives the same entries; what is unique
 * in life (ids, rays, looked-up keys) is random here too, since it decides how well the rest compresses.
 */
export const projectCount = 2_000

const functionsPerProject = 5
const clientCount = 20_000
const clientsPerProject = 40

const tables = ['orders', 'profiles', 'messages', 'products', 'audit_events', 'invoices', 'rooms', 'members']
const filters = ['user_id', 'id', 'team_id', 'order_id']
const buckets = ['avatars', 'uploads', 'public-assets', 'receipts']
const hooks = ['send-email', 'stripe-webhook', 'resize-image', 'sync-contacts', 'openai-proxy']
const ciphers = ['AEAD-AES128-GCM-SHA256', 'AEAD-AES256-GCM-SHA384', 'AEAD-CHACHA20-POLY1305-SHA256']
const statuses = [200, 200, 200, 200, 200, 200, 201, 204, 206, 304, 400, 401, 404, 409, 500]
const methods = ['GET', 'GET', 'GET', 'GET', 'POST', 'PATCH', 'DELETE']
const agents = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
  'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0',
  'Dart/3.8 (dart:io)',
  'python-httpx/0.28.1',
  'node',
  'Deno/2.4.5',
]
const places = [
  ['DE', 'Berlin', 'FRA', 3320, 'Deutsche Telekom AG', 'Europe/Berlin', 'EU'],
  ['US', 'Ashburn', 'IAD', 14618, 'Amazon Technologies Inc.', 'America/New_York', 'NA'],
  ['US', 'San Jose', 'SJC', 7922, 'Comcast Cable Communications', 'America/Los_Angeles', 'NA'],
  ['BR', 'São Paulo', 'GRU', 26599, 'TELEFÔNICA BRASIL S.A', 'America/Sao_Paulo', 'SA'],
  ['IN', 'Mumbai', 'BOM', 55836, 'Reliance Jio Infocomm Limited', 'Asia/Kolkata', 'AS'],
  ['GB', 'London', 'LHR', 2856, 'British Telecommunications PLC', 'Europe/London', 'EU'],
  ['SG', 'Singapore', 'SIN', 16509, 'Amazon Data Services Singapore', 'Asia/Singapore', 'AS'],
  ['NG', 'Lagos', 'LOS', 29465, 'MTN Nigeria', 'Africa/Lagos', 'AF'],
]

/** Mulberry32: small, fast, and the same on every machine. */
function randomFrom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Draws ranks so that the n-th comes 1/n as often as the first (Zipf with exponent 1). */
function zipf(random, count) {
  const sums = new Float64Array(count)
  let sum = 0
  for (let rank = 0; rank < count; rank++) {
    sum += 1 / (rank + 1)
    sums[rank] = sum
  }
  return () => {
    const drawn = random() * sum
    let [low, high] = [0, count - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle] < drawn) low = middle + 1
      else high = middle
    }
    return low
  }
}

export function createLogs(seed) {
  const random = randomFrom(seed)
  const below = (count) => Math.floor(random() * count)
  const pick = (list) => list[below(list.length)]
  const word = () => ((random() * 2 ** 32) >>> 0).toString(16).padStart(8, '0')
  const uuid = () => {
    const [a, b, c, d] = [word(), word(), word(), word()]
    return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-a${c.slice(1, 4)}-${c.slice(4)}${d}`
  }
  const letters = (length) => Array.from({ length }, () => String.fromCharCode(97 + below(26))).join('')
  const projects = Array.from({ length: projectCount }, () => letters(20))
  const functions = projects.map(() =>
    Array.from({ length: functionsPerProject }, () => ({
      id: uuid(),
      deployment: uuid(),
      name: pick(hooks),
    })),
  )
  const clients = Array.from({ length: clientCount }, () => ({
    ip: `${1 + below(222)}.${below(256)}.${below(256)}.${1 + below(254)}`,
    agent: pick(agents),
    place: pick(places),
    cipher: pick(ciphers),
    ja3: word() + word() + word() + word(),
    latitude: (random() * 120 - 60).toFixed(5),
    longitude: (random() * 360 - 180).toFixed(5),
  }))
  const rank = zipf(random, projectCount)

  const clientOf = (owner) =>
    clients[(owner * 31 + Math.floor(random() ** 2 * clientsPerProject)) % clientCount]

  function address() {
    const drawn = random()
    if (drawn < 0.55) {
      const search = `?select=*&${pick(filters)}=eq.${uuid()}&order=created_at.desc&limit=${pick([1, 20, 50])}`
      return { path: `/rest/v1/${pick(tables)}`, search }
    }
    if (drawn < 0.75)
      return random() < 0.5
        ? { path: '/auth/v1/token', search: '?grant_type=refresh_token' }
        : { path: '/auth/v1/user', search: '' }
    if (drawn < 0.87) return { path: `/storage/v1/object/public/${pick(buckets)}/${uuid()}.webp`, search: '' }
    if (drawn < 0.93) return { path: '/realtime/v1/websocket', search: '?vsn=1.0.0' }
    return { path: `/functions/v1/${pick(hooks)}`, search: '' }
  }

  /** A request at the edge; `lean` is about 400 bytes of JSON, `full` about 1,400. */
  function edge(micros, shape = 'full', owner = rank(), project = projects[owner]) {
    const { path, search } = address()
    const method = path.startsWith('/rest') ? pick(methods) : 'GET'
    const status = pick(statuses)
    const host = `${project}.api.example.com`
    const url = `https://${host}${path}${search}`
    const originTime = Math.round(8 / (random() + 0.002))
    const entry = { id: uuid(), timestamp: isoOf(micros), project }
    if (shape === 'lean') {
      const request = { method, path, url }
      const metadata = { request, response: { status_code: status, origin_time: originTime } }
      return { ...entry, event_message: `${method} | ${status} | ${path}`, metadata }
    }
    const client = clientOf(owner)
    const [country, city, colo, asn, asOrganization, timezone, continent] = client.place
    const ray = word() + word()
    const headers = {
      accept: '*/*',
      cf_connecting_ip: client.ip,
      cf_ipcountry: country,
      cf_ray: `${ray}-${colo}`,
      user_agent: client.agent,
      x_forwarded_proto: 'https',
    }
    const { latitude, longitude, cipher, ja3 } = client
    const botManagement = { ja3Hash: ja3, score: 99, verifiedBot: false }
    const place = { asn, asOrganization, city, colo, continent, country, latitude, longitude, timezone }
    const cf = { ...place, botManagement, httpProtocol: 'HTTP/3', tlsCipher: cipher, tlsVersion: 'TLSv1.3' }
    const answered = { cf_cache_status: 'DYNAMIC', content_type: 'application/json; charset=utf-8' }
    return {
      ...entry,
      event_message: `${method} | ${status} | ${client.ip} | ${ray} | ${url} | ${client.agent}`,
      metadata: {
        request: { cf, headers, host, method, path, protocol: 'https:', search, url },
        response: { headers: answered, origin_time: originTime, status_code: status },
      },
    }
  }

  /** A function's run as the relay saw it. Its project stands where such senders put it. */
  function invocation(micros, owner = rank(), project = projects[owner]) {
    const { id, deployment, name } = pick(functions[owner])
    const client = clientOf(owner)
    const status = pick(statuses)
    const host = `${project}.functions.example.com`
    const url = `https://${host}/${name}`
    return {
      id: uuid(),
      timestamp: isoOf(micros),
      event_message: `POST | ${status} | ${url}`,
      metadata: {
        project_ref: project,
        function_id: id,
        deployment_id: `${project}_${deployment}`,
        execution_time_ms: Math.round(20_000 / (random() + 0.004)) / 1000,
        version: String(1 + (owner % 30)),
        request: { method: 'POST', url, host, headers: { user_agent: client.agent, x_real_ip: client.ip } },
        response: { status_code: status },
      },
    }
  }

  return { projects, edge, invocation }
}

function isoOf(micros) {
  const millis = new Date(Math.floor(micros / 1000)).toISOString()
  return `${millis.slice(0, 23)}${String(micros % 1000).padStart(3, '0')}Z`
}

export const engineColumns = ['project', 'id', 'timestamp', 'event_message', 'metadata']

/** An entry as a line of what the engine stores, without the checks that the service makes on the way there. */
export function engineLine({ id, timestamp, project, event_message, metadata }) {
  const row = {
    project: project ?? metadata.project_ref,
    id,
    timestamp: `${timestamp.slice(0, 10)} ${timestamp.slice(11, 26)}`,
    event_message,
    metadata,
  }
  return `${JSON.stringify(row)}\n`
}
