import { randomOf, uuidOf } from './random.ts'
import { type EntryMaker, type Moment, regions } from './world.ts'

/** A function of the project, and the metadata that all of its entries have. */
function functionOf({ project, random }: Moment) {
  const invoked = random.weighted(project.functions.map((one) => [one, one.weight] as const))
  // The same for all invocations of a function.
  const deployed = randomOf('deployment', project.ref, invoked.name)
  const metadata = {
    function_id: invoked.name,
    deployment_id: `${project.ref}_${uuidOf(deployed)}_${deployed.whole(3, 40)}`,
    version: String(deployed.whole(3, 40)),
    execution_id: uuidOf(random),
    region: random.weighted(regions).region,
  }
  return { ...invoked, metadata }
}

/** An invocation of a function, as logged by the relay in front of it. */
export const invocationEntry: EntryMaker = (moment) => {
  const { project, random, trouble } = moment
  const { name, errorRate, medianMs, metadata } = functionOf(moment)
  const failed = random.chance(errorRate * (trouble ? 5 : 1))
  const status = failed ? Number(random.key({ 400: 3, 401: 2, 500: 5, 504: 1 })) : 200
  // A timeout takes the maximum duration.
  const ms = status === 504 ? 60_000 : random.longTail(medianMs * (trouble ? 2 : 1), 0.6)
  const method = random.chance(0.9) ? 'POST' : 'GET'
  const host = `${project.ref}.functions.example.com`
  const url = `https://${host}/${name}`
  return [
    `${method} | ${status} | ${url}`,
    {
      ...metadata,
      execution_time_ms: Math.round(ms * 100) / 100,
      request: { method, url, host, pathname: `/${name}` },
      response: { status_code: status, headers: { content_type: 'application/json' } },
    },
  ]
}

const logLines = [
  'handled request',
  'cache miss, loading from database',
  'payment intent created',
  'queued mail',
]
const errorLines = [
  "TypeError: Cannot read properties of undefined (reading 'id')",
  'Error: upstream timed out after 10000 ms',
  'SyntaxError: Unexpected end of JSON input',
]

/** An event inside a function: boot, log line, exception or shutdown. */
export const functionEventEntry: EntryMaker = (moment) => {
  const { random, trouble } = moment
  const { metadata } = functionOf(moment)
  const bootMs = Math.round(random.longTail(32, 0.4))
  const shutdown = {
    reason: random.pick(['EarlyDrop', 'WallClockTime', 'EventLoopCompleted']),
    cpu_time_used: random.whole(8, 400),
    memory_used: { heap: random.whole(4, 40) * 2 ** 20, external: random.whole(1, 6) * 2 ** 20 },
  }
  const [event_type, message, level, details] = random.weighted<readonly [string, string, string, object?]>([
    [['Log', random.pick(logLines), random.chance(0.1) ? 'warning' : 'info'], 12],
    [['Boot', `booted (time: ${bootMs}ms)`, 'info', { boot_time: bootMs }], 3],
    [['Shutdown', 'shutdown', 'info', shutdown], 3],
    [['UncaughtException', random.pick(errorLines), 'error'], trouble ? 4 : 0.6],
  ])
  return [message, { ...metadata, event_type, level, ...details }]
}
