import { randomOf, uuidOf } from './random.ts'
import type { DemoProject, EntryMaker, Moment } from './world.ts'
import { regions } from './world.ts'

function functionOf({ project, random }: Moment) {
  return random.weighted(project.functions.map((one) => [one, one.weight] as const))
}

/** The same for every call of a function, as it would be. */
function deploymentOf(project: DemoProject, name: string): { id: string; version: number } {
  const random = randomOf('deployment', project.ref, name)
  return { id: `${project.ref}_${uuidOf(random)}_${random.whole(3, 40)}`, version: random.whole(3, 40) }
}

/** A call of a function, as the relay in front of it writes it down. */
export const invocationEntry: EntryMaker = (moment) => {
  const { project, random, trouble } = moment
  const called = functionOf(moment)
  const failed = random.chance(called.errorRate * (trouble ? 5 : 1))
  const status = failed
    ? random.weighted([
        [500, 5],
        [400, 3],
        [504, 1],
        [401, 2],
      ])
    : 200
  // What times out has taken as long as it may.
  const ms = status === 504 ? 60_000 : random.longTail(called.medianMs * (trouble ? 2 : 1), 0.6)
  const method = random.chance(0.9) ? 'POST' : 'GET'
  const host = `${project.ref}.functions.example.com`
  const deployment = deploymentOf(project, called.name)
  const region = random.weighted(regions)
  return {
    id: uuidOf(random),
    event_message: `${method} | ${status} | https://${host}/${called.name}`,
    metadata: {
      project_ref: project.ref,
      function_id: called.name,
      deployment_id: deployment.id,
      version: String(deployment.version),
      execution_id: uuidOf(random),
      execution_time_ms: Math.round(ms * 100) / 100,
      region: region.region,
      request: { method, url: `https://${host}/${called.name}`, host, pathname: `/${called.name}` },
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

/** What happens inside of a function: it begins, says something, fails, ends. */
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
    id: uuidOf(random),
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
