import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { hasFeature } from '../api/features.ts'
import { queries } from '../api/queries.ts'
import type { Project, Whoami } from '../api/shapes.ts'
import { Spark } from '../charts/spark.tsx'
import { ListPage } from '../definitions/list-page.tsx'
import { EraseDialog } from '../erasure/erase-dialog.tsx'
import { Button } from '../ui/button.tsx'
import { Empty } from '../ui/states.tsx'
import { NameLink, Table } from '../ui/table.tsx'
import { ago, bytes, count } from '../ui/text/format.ts'
import { PlanDialog } from './plan-dialog.tsx'
import { PlansCard } from './plans-card.tsx'

const columns = [
  ['Project'],
  ['Plan', 'optional'],
  ['Entries', 'right'],
  ['Size', 'right optional'],
  ['Last entry', 'right optional'],
  ['Last 14 days', 'optional'],
  ['', 'right'],
] as const

/** Each trend is a request. */
const maxTrends = 20
const trendDays = 14
const dayMs = 86_400_000

export default function ProjectsPage({ who: { admin } }: { who: Whoami }) {
  const query = useQuery(queries.projects())
  const [dialog, setDialog] = useState<['plan' | 'erase', Project]>()
  const close = () => setDialog(undefined)
  const [action, project] = dialog ?? []
  return (
    <ListPage
      title="Projects"
      about="Projects with a plan, or with entries or requests in the last 30 days. Those with most entries come first."
      query={query}
      textOf={({ project, plan }) => `${project} ${plan}`}
      hint="project or plan"
      empty={
        <Empty title="No projects yet">
          <p>Projects appear here once they send entries, or have a plan.</p>
        </Empty>
      }
      below={
        <>
          <PlansCard isAdmin={admin} />
          {project && action === 'plan' && <PlanDialog project={project} onClose={close} />}
          {project && action === 'erase' && <EraseDialog project={project.project} onClose={close} />}
        </>
      }
    >
      {(found) => (
        <Table columns={columns}>
          {found.map((one, index) => (
            <ProjectRow
              key={one.project}
              project={one}
              hasTrend={index < maxTrends}
              {...(admin && { onOpen: (opened: 'plan' | 'erase') => setDialog([opened, one]) })}
            />
          ))}
        </Table>
      )}
    </ListPage>
  )
}

interface ProjectRowProps {
  project: Project
  hasTrend: boolean
  /** Undefined for readers. */
  onOpen?: (dialog: 'plan' | 'erase') => void
}

function ProjectRow({ project: one, hasTrend, onOpen }: ProjectRowProps) {
  const { project, plan, entries, bytes: size, last_entry_at } = one
  return (
    <tr>
      <td className="any-break">
        <NameLink href={`/console/projects/${encodeURIComponent(project)}`} name={project} />
        <div className="under narrow-only">{plan}</div>
      </td>
      <td className="optional">{plan}</td>
      <td className="right">{count(entries)}</td>
      <td className="right optional">{bytes(size)}</td>
      <td className="right optional" title={last_entry_at ?? undefined}>
        {last_entry_at === null ? 'unknown' : ago(last_entry_at)}
      </td>
      <td className="optional">{hasTrend && <Trend project={project} />}</td>
      <td className="right">
        {onOpen && (
          <div className="actions">
            <Button look="small" aria-label={`Set plan of ${project}`} onClick={() => onOpen('plan')}>
              Plan
            </Button>
            {hasFeature('erasure') && (
              <Button look="small danger" aria-label={`Erase ${project}`} onClick={() => onOpen('erase')}>
                Erase
              </Button>
            )}
          </div>
        )}
      </td>
    </tr>
  )
}

function Trend({ project }: { project: string }) {
  const { data } = useQuery(queries.projectUsage(project))
  const byDay = data && new Map(data.map(({ day, entries }) => [day, entries]))
  const values =
    byDay &&
    Array.from({ length: trendDays }, (_, index) => {
      const day = new Date(Date.now() - (trendDays - 1 - index) * dayMs).toISOString().slice(0, 10)
      return byDay.get(day) ?? 0
    })
  return <Spark values={values} label={`Entries of ${project} in the last ${trendDays} days`} />
}
