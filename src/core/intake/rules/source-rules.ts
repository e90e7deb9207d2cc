import { LRUCache } from 'lru-cache'
import { OperatorError } from '../../base/operator-error.ts'
import { readShape } from '../../base/validation.ts'
import type { NewSource, TypedColumn } from '../../catalog/source.ts'
import { type Rule, rulesShape } from '../../catalog/source-rules.ts'
import { Rules } from './rules.ts'

interface RulesText {
  defaults: readonly Rule[]
  rules: readonly Rule[]
  columns: readonly TypedColumn[]
}

type Ruled = Pick<NewSource, 'name' | 'rules' | 'columns'>

const maxSources = 1_000

/** The rules of all sources, and how many entries each of them dropped or changed. */
export class SourceRules {
  readonly #defaults: readonly Rule[]
  readonly #texts = new WeakMap<object, string>()
  readonly #counts = new LRUCache<string, { rules: string; hits: number[] }>({ max: maxSources })

  /** The defaults come before the rules of each source. */
  constructor(defaults: readonly Rule[]) {
    this.#defaults = defaults
  }

  /** As text, so that a worker thread can receive them, and knows them when it sees them again. Undefined without any. */
  textOf(source: Ruled): string | undefined {
    const { rules, columns } = source
    if (this.#defaults.length + rules.length === 0) return undefined
    const known = this.#texts.get(source)
    if (known !== undefined) return known
    const text = JSON.stringify({ defaults: this.#defaults, rules, columns } satisfies RulesText)
    this.#texts.set(source, text)
    return text
  }

  count(source: string, rules: string, hits: readonly number[]): void {
    const known = this.#counts.get(source)
    const counted = known?.rules === rules ? known : { rules, hits: [] }
    this.#counts.set(source, counted)
    for (const [rule, entries = 0] of hits.entries()) {
      counted.hits[rule] = (counted.hits[rule] ?? 0) + entries
    }
  }

  /** In the order in which they are applied, with their entries since the service started or the rules changed. */
  list(source: Ruled, hits: readonly number[] = this.#hitsOf(source)) {
    const { length } = this.#defaults
    return [...this.#defaults, ...source.rules].map((rule, index) => ({
      rule,
      origin: index < length ? ('deployment' as const) : ('source' as const),
      entries: hits[index] ?? 0,
    }))
  }

  /** By source and number of the rule; those of the deployment are numbered before those of the source. */
  *figures(): Generator<{ source: string; rule: string; entries: number }> {
    for (const [source, { hits }] of this.#counts.entries()) {
      for (const [index, entries = 0] of hits.entries()) {
        if (entries > 0) yield { source, rule: String(index + 1), entries }
      }
    }
  }

  #hitsOf(source: Ruled): readonly number[] {
    const counted = this.#counts.get(source.name)
    return counted !== undefined && counted.rules === this.textOf(source) ? counted.hits : []
  }
}

const compiled = new LRUCache<string, Rules>({ max: maxSources })

export function rulesOf(text: string): Rules {
  const known = compiled.get(text)
  if (known) return known
  const { defaults, rules, columns } = JSON.parse(text) as RulesText
  // Sources have different columns, and rules for all of them must mean the same everywhere.
  const made = new Rules([...defaults, ...rules], (rule) => (rule < defaults.length ? [] : columns))
  compiled.set(text, made)
  return made
}

/** Throws if the setting is wrong. */
export function readDefaultRules(setting: unknown): readonly Rule[] {
  try {
    const rules = readShape(rulesShape, setting ?? [])
    new Rules(rules, () => [])
    return rules
  } catch (error) {
    throw new OperatorError(`WELLHEAD_DEFAULT_RULES: ${(error as Error).message}`)
  }
}
