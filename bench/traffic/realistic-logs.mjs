/**
 * Entries of the demo, for 2,000 projects whose sizes follow Zipf's law. The same seed gives the same entries. Values that
 * are unique in life (ids, rays, keys) are random here as well, since they decide how well the rest compresses.
 */
import { sources } from '../../build/features/demo/entries.js'
import { randomOf, uuidOf } from '../../build/features/demo/random.js'
import { projects as demoProjects } from '../../build/features/demo/world.js'

const projectCount = 2_000

/** Draws ranks so that the n-th comes 1/n as often as the first (Zipf with exponent 1). */
function zipf(random, count) {
  const sums = new Float64Array(count)
  let sum = 0
  for (let rank = 0; rank < count; rank++) {
    sum += 1 / (rank + 1)
    sums[rank] = sum
  }
  return () => {
    const drawn = random.next() * sum
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
  const random = randomOf('bench', seed)
  const letter = () => String.fromCharCode(random.whole(97, 122))
  const projects = Array.from({ length: projectCount }, () => Array.from({ length: 20 }, letter).join(''))
  const rank = zipf(random, projectCount)
  const make = (maker, micros, owner, ref) => {
    const project = { ...demoProjects[owner % demoProjects.length], ref }
    const [event_message, metadata] = maker({ project, random, trouble: false })
    return { id: uuidOf(random), timestamp: isoOf(micros), project: ref, event_message, metadata }
  }

  /** A request at the edge; `lean` is about 400 bytes of JSON, `full` about 1,300. */
  function edge(micros, shape = 'full', owner = rank(), project = projects[owner]) {
    const entry = make(sources.edge_logs.make, micros, owner, project)
    if (shape === 'full') return entry
    const { method, path, url } = entry.metadata.request
    const { status_code, origin_time } = entry.metadata.response
    const metadata = { request: { method, path, url }, response: { status_code, origin_time } }
    return { ...entry, event_message: `${method} | ${status_code} | ${path}`, metadata }
  }

  /** An invocation of a function. Its project is in the metadata as well. */
  function invocation(micros, owner = rank(), project = projects[owner]) {
    const { metadata, ...entry } = make(sources.function_edge_logs.make, micros, owner, project)
    return { ...entry, metadata: { project_ref: project, ...metadata } }
  }

  return { projects, edge, invocation }
}

function isoOf(micros) {
  const millis = new Date(Math.floor(micros / 1000)).toISOString()
  return `${millis.slice(0, 23)}${String(micros % 1000).padStart(3, '0')}Z`
}

export const engineColumns = ['project', 'id', 'timestamp', 'event_message', 'metadata']

/** An entry as a line for the engine, without the service's checks. */
export function engineLine({ id, timestamp, project, event_message, metadata }) {
  const row = {
    project,
    id,
    timestamp: `${timestamp.slice(0, 10)} ${timestamp.slice(11, 26)}`,
    event_message,
    metadata,
  }
  return `${JSON.stringify(row)}\n`
}
