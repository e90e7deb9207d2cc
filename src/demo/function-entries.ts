import { randomOf, uuidOf } from './random.ts'
import { type DemoProject, type EntryMaker, type Moment, regions } from './world.ts'

function functionOf({ project, random }: Moment) {
  return random.weighted(project.functions.map((one) => [one, one.weight] as const))
}

/** The same for all invocations of a function. */
function deploymentOf(project: DemoProject, name: string): { id: string; version: number } {
  const random = randomOf('deployment', project.ref, name)
  return { id: `${project.ref}_${uuidOf(random)}_${random.whole(3, 40)}`, version: random.whole(3, 40) }
}

/** An invocation of a function, as logged by the relay in front of it. */
export const invocationEntry: EntryMaker = (moment) => {
  const { project, random, trouble } = moment
  const invoked = functionOf(moment)
  const failed = random.chance(invoked.errorRate * (trouble ? 5 : 1))
  const status = failed ? Number(random.key({ 400: 3, 401: 2, 500: 5, 504: 1 })) : 200
  // A timeout takes the maximum duration.
  const ms = status === 504 ? 60_000 : random.longTail(invoked.medianMs * (trouble ? 2 : 1), 0.6)
  const method = random.chance(0.9) ? 'POST' : 'GET'
  const host = `${project.ref}.functions.example.com`
  const deployment = deploymentOf(project, invoked.name)
  const region = random.weighted(regions)
  return {
    event_message: `${method} | ${status} | https://${host}/${invoked.name}`,
    metadata: {
      project_ref: project.ref,
      function_id: invoked.name,
      deployment_id: deployment.id,
      version: String(deployment.version),
      execution_id: uuidOf(random),
      execution_time_ms: Math.round(ms * 100) / 100,
      region: region.region,
      request: { method, url: `https://${host}/${invoked.name}`, host, pathname: `/${invoked.name}` },
      response: { status_code: status, headers: { content_type: 'application/json' } },
    },
  }
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
  const { project, random, trouble } = moment
  const { name } = functionOf(moment)
  const deployment = deploymentOf(project, name)
  const kind = random.weighted([
    ['Log', 12],
    ['Boot', 3],
    ['Shutdown', 3],
    ['UncaughtException', trouble ? 4 : 0.6],
  ] as const)
  const bootMs = Math.round(random.longTail(32, 0.4))
  const messages = {
    Log: random.pick(logLines),
    Boot: `booted (time: ${bootMs}ms)`,
    Shutdown: 'shutdown',
    UncaughtException: random.pick(errorLines),
  } as const
  return {
    event_message: messages[kind],
    metadata: {
      project_ref: project.ref,
      function_id: name,
      deployment_id: deployment.id,
      version: String(deployment.version),
      execution_id: uuidOf(random),
      event_type: kind,
      level:
        kind === 'UncaughtException' ? 'error' : kind === 'Log' && random.chance(0.1) ? 'warning' : 'info',
      region: random.weighted(regions).region,
      ...(kind === 'Boot' && { boot_time: bootMs }),
      ...(kind === 'Shutdown' && {
        reason: random.pick(['EarlyDrop', 'WallClockTime', 'EventLoopCompleted']),
        cpu_time_used: random.whole(8, 400),
        memory_used: { heap: random.whole(4, 40) * 2 ** 20, external: random.whole(1, 6) * 2 ** 20 },
      }),
    },
  }
}
