import { type DemoSource, type SourceTraffic, sources } from './entries.ts'
import { randomOf, uuidOf } from './random.ts'
import { type DemoProject, projects, troubleIn } from './world.ts'

const hourMs = 3_600_000

export type { DemoSource }
export const demoSources = Object.keys(sources) as DemoSource[]

/** For all projects and sources together: seven days are about 50,000 entries. */
const entriesPerHour = 300

interface TimedEntry {
  atMs: number
  entry: { id: string; timestamp: number; project?: string; event_message: string; metadata: object }
}

/** The entries between two instants, oldest first. Each hour has its own seed, so they are always the same. */
export function* demoTraffic(source: DemoSource, { afterMs, untilMs }: { afterMs: number; untilMs: number }) {
  for (let hour = Math.floor(afterMs / hourMs); hour * hourMs <= untilMs; hour++) {
    const entries = projects.flatMap((project) => hourOf(source, project, hour))
    entries.sort((one, other) => one.atMs - other.atMs)
    yield* entries.filter(({ atMs }) => atMs > afterMs && atMs <= untilMs)
  }
}

function hourOf(source: DemoSource, project: DemoProject, hour: number): TimedEntry[] {
  const { share, make, projectKey }: SourceTraffic = sources[source]
  const random = randomOf('hour', source, project.ref, hour)
  const wanted = entriesPerHour * share * project.share * busyness(project, hour)
  const count = Math.floor(wanted + random.next())
  const moment = { project, random, trouble: troubleIn(hour) }
  return Array.from({ length: count }, (_, i) => {
    // Spread evenly over the hour, so that no interval is empty by chance.
    const timestamp = Math.floor((hour + (i + random.next()) / count) * hourMs * 1000)
    const id = uuidOf(random)
    const [event_message, metadata] = make(moment)
    const owned =
      projectKey === undefined
        ? { project: project.ref, metadata }
        : { metadata: { [projectKey]: project.ref, ...metadata } }
    return { atMs: timestamp / 1000, entry: { id, timestamp, event_message, ...owned } }
  })
}

/** Around 1; lower at night and on weekends in the time zone of the users. */
function busyness({ rhythm, utcOffset }: DemoProject, hour: number): number {
  const local = new Date((hour + utcOffset) * hourMs)
  // Quietest at four in the morning.
  const daily = 1 - rhythm * Math.cos(((local.getUTCHours() - 4) / 24) * 2 * Math.PI)
  const weekend = local.getUTCDay() % 6 === 0 ? 1 - rhythm / 2 : 1
  return daily * weekend
}

/** What customers request, with weights: mostly cached results, some that are not, and a few mistakes. */
const requests = [
  ['usage.api-counts?interval=hourly', 30],
  ['functions.invocation-stats?interval=1hr', 30],
  ['functions.invocation-stats?interval=7day', 10],
  ['usage.api-counts?interval=daily', 10],
  ['logs.all?project_tier=PRO', 16],
  ['usage.api-counts?interval=weekly', 2],
  ['logs.all?iso_timestamp_start=yesterday', 1],
  ['demo.pattern-search?pattern=Safari/.*7%24', 1],
] as const

export function* customerRequests(seed: number): Generator<{ project: string; path: string }> {
  const random = randomOf('requests', seed)
  for (;;) {
    const { ref } = random.weighted(projects.map((project) => [project, project.share]))
    yield { project: ref, path: `/api/endpoints/query/${random.weighted(requests)}` }
  }
}
