import { inUse } from '../base/errors.ts'
import { readShape } from '../base/validation.ts'
import type { Items } from '../catalog/items.ts'
import { type DefinitionChange, kindForm, type Opened } from '../definitions/kind.ts'
import { yamlFile } from '../definitions/yaml-file.ts'
import { defaultPlan, type Plan, planShape, type SavedPlan } from './plan.ts'
import type { ProjectPlans } from './project-plans.ts'

interface PlanParts {
  plans: Items<SavedPlan>
  projectPlans: Pick<ProjectPlans, 'users'>
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
    texts: {
      change: 'Holds at once. Entries that are older than the retention leave the disk within a day.',
      delete: 'A plan that projects have cannot be deleted.',
    },
  },
})

/** Some projects that have a plan; there may be a million. */
const maxNamed = 6

export const plans = {
  ...form,
  open: ({ plans, projectPlans }: PlanParts): Opened<SavedPlan> => ({
    items: plans,
    prepare: async (fields) => ({ stored: { definition: readShape(planShape, fields) } }),
    changes: changesOf,
    async refuseUsed({ name }, after) {
      // Without it, projects without another plan have no limits.
      if (after?.name === name || name === defaultPlan) return
      const users = await projectPlans.users(name, maxNamed)
      if (users.length > 0)
        throw inUse(
          name,
          users.map((project) => `projects/${project}`),
        )
    },
  }),
}

function changesOf({ definition: before }: SavedPlan, after: SavedPlan | undefined): DefinitionChange[] {
  if (!after) return [{ kind: 'plan_deleted', breaking: false, message: 'plan deleted' }]
  const now = after.definition
  return (Object.keys(before) as (keyof Plan)[]).flatMap((field) => {
    const [from, to] = [before[field], now[field]]
    if (from === to) return []
    // Older entries are deleted within a day.
    const breaking = field === 'retention_days' && to !== null && (from === null || to < from)
    return [{ kind: `${field}_changed`, breaking, message: `${field} ${from ?? 'none'} → ${to ?? 'none'}` }]
  })
}
