/** What a profile that Node wrote (--cpu-prof) tells: whose code the processor was in, and in which functions. */
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('../..', import.meta.url))

/** Milliseconds by layer and by function, of the samples between two moments of the monotonic clock. */
export function sumUp(profile, { fromMicros, toMicros }) {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const layers = new Map()
  const functions = new Map()
  let atMicros = profile.startTime
  let busyMs = 0
  for (const [i, id] of profile.samples.entries()) {
    const deltaMicros = profile.timeDeltas[i]
    atMicros += deltaMicros
    if (atMicros < fromMicros || atMicros > toMicros) continue
    const { functionName, url } = nodes.get(id).callFrame
    if (functionName === '(idle)') continue
    const ms = deltaMicros / 1000
    busyMs += ms
    add(layers, layerOf(functionName, url), ms)
    add(functions, `${functionName || '(anonymous)'} ${placeOf(url)}`.trim(), ms)
  }
  return { busyMs, layers: largestFirst(layers), functions: largestFirst(functions) }
}

function add(sums, name, ms) {
  sums.set(name, (sums.get(name) ?? 0) + ms)
}

function largestFirst(sums) {
  return [...sums].sort(([, one], [, other]) => other - one).map(([name, ms]) => ({ name, ms }))
}

/** Wellhead's own layers by their folders, libraries by their names, Node by the part of it. */
function layerOf(functionName, url) {
  if (functionName === '(garbage collector)') return 'garbage collector'
  if (functionName === '(program)') return 'native code and system calls'
  const place = placeOf(url)
  const library = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(place)?.[1]
  if (library) return `library ${library}`
  const own = /^build\/([^/]+)\//.exec(place)?.[1]
  if (own) return `Wellhead: ${own}`
  if (place.startsWith('build/')) return 'Wellhead: app'
  if (place.startsWith('node:')) return `Node: ${nodePart(place)}`
  return 'Node: built in'
}

function nodePart(place) {
  if (/http/.test(place)) return 'HTTP'
  if (/stream|net|tls/.test(place)) return 'streams and sockets'
  if (/timers|task_queues|async_hooks|process/.test(place)) return 'timers and tasks'
  return 'the rest'
}

function placeOf(url) {
  const path = url.startsWith('file:') ? fileURLToPath(url) : url
  if (path.startsWith(repository)) return path.slice(repository.length)
  // Libraries may lie elsewhere, behind a link.
  return path.slice(Math.max(0, path.indexOf('node_modules/')))
}
