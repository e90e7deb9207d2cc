import { readShape } from '../../core/base/validation.ts'
import type { Items } from '../../core/catalog/items.ts'
import {
  type DefinitionChange,
  kindForm,
  type NextDefinitions,
  type Opened,
} from '../../core/definitions/kind.ts'
import { yamlFile } from '../../core/definitions/yaml-file.ts'
import type { Engine } from '../../core/engine/engine.ts'
import type { HiddenEntries } from '../sources/index.ts'
import { defaultPlan, type Plan, planShape, type SavedPlan } from './plan.ts'
import {
  havingPlan,
  isShorter,
  type KeptSource,
  type LoweredRetention,
  planDays,
  retentionChange,
  shownDays,
  withoutPlan,
} from './plan-effects.ts'
import type { ProjectPlans } from './project-plans.ts'

interface PlanParts {
  plans: Items<SavedPlan>
  projectPlans: Pick<ProjectPlans, 'users'>
  engine: Pick<Engine, 'database'>
  hiddenEntries: HiddenEntries
  sources: { list(): readonly KeptSource[] }
}

const form = kindForm<Plan>({
  name: 'plan',
  folder: 'plans',
  most: 1_000,
  fields: planShape,
  file: yamlFile('plan', planShape, { example: 'retention_days: 7' }),
  docs: {
    about: 'What a project may store and call.',
    fieldsName: 'NewPlan',
    changes: 'admin',
    view: {},
    example: { name: 'FREE', retention_days: 1, entries_per_day: 100_000 },
    changeExample: { retention_days: 7 },
    referenceExample: 'FREE',
    hidesEntries: true,
    texts: {
      create: 'A plan `default` holds at once for all projects without another.',
      change: 'Holds at once. Entries that a shorter retention hides are deleted later.',
      delete: 'Projects that have it get the plan `default`, if `breaking` is true.',
    },
  },
})

/** Some projects that have a plan; there may be a million. */
const maxNamed = 3

export const plans = {
  ...form,
  open: (parts: PlanParts): Opened<SavedPlan> => ({
    items: parts.plans,
    prepare: async (fields) => ({ stored: { definition: readShape(planShape, fields) } }),
    changes: (before, after, next) => changesOf(parts, before, after, next),
    async creation(after, next) {
      const lowered = loweredBy(parts, undefined, after, next)
      // A deleted plan of the name may have left projects.
      const hasProjects =
        after.name === defaultPlan || (await parts.projectPlans.users(after.name, 1)).length > 0
      if (lowered.length === 0 || !hasProjects) return []
      const what = `retention_days ${after.definition.retention_days}`
      return [await changeOf(parts, { kind: 'retention_days_changed', what, lowered })]
    },
  }),
}

const changeOf = ({ hiddenEntries, sources }: PlanParts, change: Parameters<typeof retentionChange>[2]) =>
  retentionChange(hiddenEntries, sources.list(), change)

/** What becomes shorter for projects that have the plan, or that have the default one because theirs does not exist. */
function loweredBy(
  { plans, engine }: PlanParts,
  before: SavedPlan | undefined,
  after: SavedPlan | undefined,
  next: NextDefinitions,
): LoweredRetention[] {
  const definitionsOf = (saved: readonly SavedPlan[]) => saved.map(({ definition }) => definition)
  const [current, future] = [definitionsOf(plans.list()), definitionsOf(next.list<SavedPlan>('plans'))]
  const names = new Set([before?.name, after?.name].filter((name) => name !== undefined))
  return [...names].flatMap((name) => {
    const change = { before: planDays(current, name), after: planDays(future, name) }
    if (!isShorter(change.after, change.before)) return []
    const others = new Set([...current, ...future].map((plan) => plan.name))
    others.delete(defaultPlan)
    const projects =
      name === defaultPlan ? withoutPlan([...others], engine.database) : havingPlan([name], engine.database)
    return [{ projects, ...change }]
  })
}

async function changesOf(
  parts: PlanParts,
  before: SavedPlan,
  after: SavedPlan | undefined,
  next: NextDefinitions,
): Promise<DefinitionChange[]> {
  const lowered = loweredBy(parts, before, after, next)
  const changes: DefinitionChange[] = []
  if (after?.name !== before.name) {
    const what = after ? `name ${before.name} → ${after.name}` : 'plan deleted'
    const kind = after ? 'name_changed' : 'plan_deleted'
    const users = before.name === defaultPlan ? [] : await parts.projectPlans.users(before.name, maxNamed + 1)
    const isKept = next.list<SavedPlan>('plans').some(({ name }) => name === before.name)
    if (isKept || (users.length === 0 && lowered.length === 0)) {
      changes.push({ kind, breaking: false, message: what })
    } else {
      const named = users.slice(0, maxNamed).join(', ') + (users.length > maxNamed ? ' and others' : '')
      const days = ({ before, after }: LoweredRetention) =>
        ` (retention_days ${shownDays(before)} → ${shownDays(after)})`
      const effect =
        users.length === 0
          ? ''
          : `; ${users.length === 1 ? `project ${named} gets` : `projects ${named} get`} the plan ${defaultPlan}`
      const text = `${what}${effect}${lowered.map(days).join('')}`
      changes.push(await changeOf(parts, { kind, what: text, lowered }))
    }
  }
  for (const field of after ? (Object.keys(before.definition) as (keyof Plan)[]) : []) {
    const [from, to] = [before.definition[field], after?.definition[field] ?? null]
    if (from === to || field === 'name') continue
    const what = `${field} ${from ?? 'none'} → ${to ?? 'none'}`
    const kind = `${field}_changed`
    const isLowered = field === 'retention_days' && lowered.length > 0 && after?.name === before.name
    changes.push(
      isLowered ? await changeOf(parts, { kind, what, lowered }) : { kind, breaking: false, message: what },
    )
  }
  return changes
}
