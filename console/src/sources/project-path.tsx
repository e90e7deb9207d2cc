import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { invalidate, queries } from '../api/queries.ts'
import type { Source } from '../api/shapes.ts'
import { useMayChange } from '../api/use-may-change.ts'
import { changeDefinition } from '../definitions/requests.ts'
import { shareOf } from '../schema/typed-columns.ts'
import { Button } from '../ui/button.tsx'
import { Form, TextField } from '../ui/fields.tsx'
import { Failure } from '../ui/states.tsx'
import { proposedProjects } from './proposed-projects.ts'
import { sourceKind } from './source-kind.ts'

/** Where entries without a field `project` have theirs, with proposals from the newest entries. */
export function ProjectPath({ source }: { source: Source }) {
  const mayChange = useMayChange('sources')
  const { data: paths = [] } = useQuery(queries.schema(source.name))
  const [text, setText] = useState(source.project ?? '')
  const change = useMutation({
    mutationFn: (path: string) => changeDefinition(sourceKind, source, { project: path || null }),
    onSuccess: ({ project }) => {
      setText(project ?? '')
      invalidate('sources')
    },
  })
  const proposed = source.project === null && mayChange ? proposedProjects(paths) : []
  return (
    <section className="stack" aria-labelledby="project">
      <h2 id="project">Project</h2>
      <p className="soft">
        A tenant sees the entries of its project. An entry without a field <code>project</code> has it in{' '}
        {source.project === null ? (
          <>
            <code>metadata.project_ref</code> or <code>metadata.project</code>, or belongs to nobody.
          </>
        ) : (
          <>
            <code>metadata.{source.project}</code>.
          </>
        )}{' '}
        A change concerns new entries.
      </p>
      {mayChange && (
        <Form className="row" onSubmit={() => change.mutate(text)}>
          <TextField
            label="Path of the project"
            className="mono"
            placeholder="customer.id"
            value={text}
            onChange={setText}
          />
          <Button type="submit" disabled={change.isPending || text === (source.project ?? '')}>
            {change.isPending ? 'Saving …' : 'Save'}
          </Button>
          {change.error && <Failure error={change.error} />}
        </Form>
      )}
      {proposed.length > 0 && (
        <div className="row">
          {proposed.map(({ path, entries, sampled, examples }) => (
            <Button key={path} look="small" disabled={change.isPending} onClick={() => change.mutate(path)}>
              Use {path}
              <span className="faint">
                {shareOf(entries, sampled)}, such as {examples[0]}
              </span>
            </Button>
          ))}
        </div>
      )}
    </section>
  )
}
