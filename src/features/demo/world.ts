import type { Random } from './random.ts'
import world from './world.json' with { type: 'json' }

export interface DemoProject {
  ref: string
  /** Share of all traffic. */
  share: number
  /** How much quieter its nights are, from 0 to 1. */
  rhythm: number
  /** UTC offset of its users, in hours. */
  utcOffset: number
  tables: readonly string[]
  functions: readonly { name: string; weight: number; medianMs: number; errorRate: number }[]
}

/** From a busy project with users everywhere to a quiet one with users in one place. */
export const projects: readonly DemoProject[] = world.projects

export const userAgents = Object.entries(world.userAgents)
export const regions = world.regions.map(({ weight, ...region }) => [region, weight] as const)

/** An address of the ranges reserved for documentation. */
export function addressOf(random: Random): string {
  if (random.chance(0.4)) return `2001:db8:${random.hex(4)}:${random.hex(2)}::1`
  return `${random.pick(['192.0.2', '198.51.100', '203.0.113'])}.${random.whole(1, 254)}`
}

/** Now and then there is an hour of failures. */
export function troubleIn(hour: number): boolean {
  return (Math.imul(hour, 2_654_435_761) >>> 0) % 61 === 0
}

export interface Moment {
  project: DemoProject
  random: Random
  trouble: boolean
}

export type EntryMaker = (moment: Moment) => [message: string, metadata: object]
