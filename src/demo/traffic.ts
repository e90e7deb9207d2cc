import {
  authEntry,
  edgeEntry,
  functionEventEntry,
  invocationEntry,
  poolerEntry,
  postgresEntry,
  postgrestEntry,
  realtimeEntry,
  storageEntry,
} from './entries.ts'
import { randomOf, uuidOf } from './random.ts'
import { type DemoProject, type EntryMaker, projects, troubleIn } from './world.ts'

const hourMs = 3_600_000

/** Share of each source in all traffic. Some entries name their project in the metadata, below this key. */
const sources = {
  edge_logs: { share: 0.5, make: edgeEntry },
  function_edge_logs: { share: 0.2, make: invocationEntry, projectKey: 'project_ref' },
  auth_logs: { share: 0.07, make: authEntry },
  function_logs: { share: 0.06, make: functionEventEntry, projectKey: 'project_ref' },
  postgres_logs: { share: 0.06, make: postgresEntry },
  storage_logs: { share: 0.04, make: storageEntry, projectKey: 'project' },
  realtime_logs: { share: 0.03, make: realtimeEntry, projectKey: 'project' },
  postgrest_logs: { share: 0.02, make: postgrestEntry },
  pgbouncer_logs: { share: 0.02, make: poolerEntry },
} satisfies Record<string, SourceTraffic>

interface SourceTraffic {
  share: number
  make: EntryMaker
  projectKey?: string
}

export type DemoSource = keyof typeof sources
export const demoSources = Object.keys(sources) as DemoSource[]

/** For all projects and sources together: seven days are about 50,000 entries. */
const entriesPerHour = 300

interface TimedEntry {
  atMs: number
  entry: { id: string; timestamp: number; project?: string; event_message: string; metadata: object }
}

/** The entries between two instants, oldest first. Each hour has its own seed, so they are always the same. */
export function* demoTraffic(
  source: DemoSource,
  { afterMs, untilMs }: { afterMs: number; untilMs: number },
): Generator<TimedEntry> {
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
