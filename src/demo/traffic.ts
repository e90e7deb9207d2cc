import { edgeEntry } from './edge-entry.ts'
import { functionEventEntry, invocationEntry } from './function-entries.ts'
import { randomOf, uuidOf } from './random.ts'
import {
  authEntry,
  poolerEntry,
  postgresEntry,
  postgrestEntry,
  realtimeEntry,
  storageEntry,
} from './service-entries.ts'
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

/** Live traffic of all projects and sources. */
const entriesPerHour = 540
/** Share of old traffic that is kept, so that seven days are about 30,000 entries. */
const keptShare = 0.33

interface TimedEntry {
  atMs: number
  entry: { id: string; timestamp: number; project?: string; event_message: string; metadata: object }
}

/**
 * The entries of a source after one instant and up to another, oldest first. Each hour has its own seed, so the same
 * instants always give the same entries.
 */
export function* demoTraffic(
  source: DemoSource,
  { afterMs, untilMs, nowMs }: { afterMs: number; untilMs: number; nowMs: number },
): Generator<TimedEntry> {
  for (let hour = Math.floor(afterMs / hourMs); hour * hourMs <= untilMs; hour++) {
    const entries = projects.flatMap((project) => [...hourOf(source, project, hour)])
    entries.sort((one, other) => one.atMs - other.atMs)
    for (const { atMs, rank, entry } of entries) {
      const kept = Math.max(keptShare, Math.exp((atMs - nowMs) / hourMs))
      if (atMs > afterMs && atMs <= untilMs && rank < kept) yield { atMs, entry: entry() }
    }
  }
}

interface PlannedEntry {
  atMs: number
  /** From 0 to 1: entries with a low rank are kept longest. */
  rank: number
  entry(): TimedEntry['entry']
}

function* hourOf(source: DemoSource, project: DemoProject, hour: number): Generator<PlannedEntry> {
  const { share, make, projectKey }: SourceTraffic = sources[source]
  const random = randomOf('hour', source, project.ref, hour)
  const wanted = entriesPerHour * share * project.share * busyness(project, hour)
  const count = Math.floor(wanted + random.next())
  const trouble = troubleIn(hour)
  for (let i = 0; i < count; i++) {
    // Spread evenly over the hour, so that no interval is empty by chance.
    const atMicros = Math.floor((hour + (i + random.next()) / count) * hourMs * 1000)
    const rank = random.next()
    yield {
      atMs: atMicros / 1000,
      rank,
      entry: () => {
        const seeded = randomOf('entry', source, project.ref, hour, i)
        const id = uuidOf(seeded)
        const [event_message, metadata] = make({ project, random: seeded, trouble })
        const entry = { id, timestamp: atMicros, event_message, metadata }
        return projectKey === undefined
          ? { ...entry, project: project.ref }
          : { ...entry, metadata: { [projectKey]: project.ref, ...metadata } }
      },
    }
  }
}

/** Around 1; lower at night and on weekends in the time zone of the users. */
function busyness({ rhythm, utcOffset }: DemoProject, hour: number): number {
  const local = new Date((hour + utcOffset) * hourMs)
  // Quietest at four in the morning.
  const daily = 1 - rhythm * Math.cos(((local.getUTCHours() - 4) / 24) * 2 * Math.PI)
  const weekend = local.getUTCDay() % 6 === 0 ? 1 - rhythm / 2 : 1
  return daily * weekend
}
