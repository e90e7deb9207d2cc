import { existsSync } from 'node:fs'
import { inspect } from 'node:util'
import { randomOf } from '../../src/features/demo/random.ts'
import { scratchDirectory } from '../../test/support/scratch.ts'
import type { Scenario, Verdict } from './scenario.ts'
import type { SharedResources } from './shared-resources.ts'

export interface TortureOptions {
  form: 'long' | 'short'
  seed: number
  minutes: number
  cycles?: number | undefined
  match?: string | undefined
  /** The command that repeats the run. */
  command: string
  shared: SharedResources
  say: (line: string) => void
}

export interface TortureResult extends Verdict {
  name: string
  title: string
  seed: number
  seconds: number
  skipped?: string
  /** Repeats the run; present if there are faults. */
  command?: string
  /** Directories that were kept; present if there are faults. */
  kept?: string[]
}

/** Runs a scenario. If it finds faults, it prints the command that repeats it and keeps the data. */
export async function runScenario(scenario: Scenario, options: TortureOptions): Promise<TortureResult> {
  const { name, title } = scenario
  const { seed, shared } = options
  const say = (line: string) => options.say(`${name}: ${line}`)
  const skipped = scenario.needs?.()
  if (skipped !== undefined) {
    say(`SKIPPED: ${skipped}`)
    return { name, title, seed, seconds: 0, counts: {}, faults: [], skipped }
  }
  say(`${title} (seed ${seed})`)
  const directory = scratchDirectory()
  const size = (long: number, short: number) => (options.form === 'long' ? long : short)
  const since = performance.now()
  const { counts, faults } = await scenario
    .run({
      seed,
      random: randomOf(seed).next,
      size,
      cycles: (long, short) => options.cycles ?? size(long, short),
      minutes: options.minutes,
      until: since + options.minutes * 60_000,
      match: options.match === undefined ? undefined : new RegExp(options.match),
      say,
      directory: directory.path,
      share: (thing, open) => shared.open(thing, open),
    })
    .catch((error): Verdict => ({ counts: {}, faults: [inspect(error)] }))
  const seconds = Math.round((performance.now() - since) / 100) / 10
  const result = { name, title, seed, seconds, counts, faults }
  if (faults.length === 0) {
    directory.remove()
    say(`holds: ${countsAsText(counts)} (${seconds} s)`)
    return result
  }
  for (const fault of faults) say(`FAULT: ${fault}`)
  const kept = [directory.path, ...shared.keep()].filter((path) => existsSync(path))
  say(`The data is kept in ${kept.join(' and ')}. Repeat with: ${options.command}`)
  return { ...result, command: options.command, kept }
}

export function countsAsText(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ')
}
