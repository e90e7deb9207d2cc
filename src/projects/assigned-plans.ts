import { hash } from 'node:crypto'
import { defaultPlan } from './plan.ts'

/**
 * The plan of each project that has one, in a few arrays: a million projects take some 20 MB, and a look-up never waits.
 * Projects are known by 64 bits of a hash.
 */
export class AssignedPlans {
  readonly #maxProjects: number
  readonly #names: string[] = []
  readonly #counts: number[] = []
  #keys = new BigUint64Array(1024)
  /** One more than the index of the name; 0 in a free place. */
  #plans = new Uint16Array(1024)
  #size = 0

  constructor(maxProjects: number) {
    this.#maxProjects = maxProjects
  }

  get isFull(): boolean {
    return this.#size - this.count(defaultPlan) >= this.#maxProjects
  }

  /** Number of projects with this plan. */
  count(plan: string): number {
    return this.#counts[this.#names.indexOf(plan)] ?? 0
  }

  get(project: string): string | undefined {
    if (this.#size === 0) return undefined
    return this.#names[(this.#plans[this.#placeOf(keyOf(project))] as number) - 1]
  }

  set(project: string, plan: string): void {
    this.put(keyOf(project), plan)
  }

  put(key: bigint, plan: string): void {
    if (this.#size * 2 >= this.#keys.length) this.#grow()
    const place = this.#placeOf(key)
    const before = this.#plans[place] as number
    if (before === 0) this.#size++
    else this.#counts[before - 1] = (this.#counts[before - 1] as number) - 1
    const known = this.#names.indexOf(plan)
    const index = known < 0 ? this.#names.push(plan) - 1 : known
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
    this.#keys[place] = key
    this.#plans[place] = index + 1
  }

  #placeOf(key: bigint): number {
    const mask = this.#keys.length - 1
    let place = Number(key & BigInt(mask))
    while (this.#plans[place] !== 0 && this.#keys[place] !== key) place = (place + 1) & mask
    return place
  }

  #grow(): void {
    const [keys, plans] = [this.#keys, this.#plans]
    // Projects that no longer have a plan are left out.
    const left = this.#names.indexOf(defaultPlan) + 1
    this.#size -= this.count(defaultPlan)
    if (left > 0) this.#counts[left - 1] = 0
    this.#keys = new BigUint64Array(keys.length * 2)
    this.#plans = new Uint16Array(keys.length * 2)
    for (const [at, plan] of plans.entries()) {
      if (plan === 0 || plan === left) continue
      const place = this.#placeOf(keys[at] as bigint)
      this.#keys[place] = keys[at] as bigint
      this.#plans[place] = plan
    }
  }
}

/** The engine computes the same: the first eight bytes of SHA-256. */
function keyOf(project: string): bigint {
  return hash('sha256', project, 'buffer').readBigUInt64LE()
}

export const keySql = 'toFixedString(substring(SHA256(project), 1, 8), 8)'
