import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useEffect, useId, useState } from 'react'
import { queries } from '../api/queries.ts'

export function SourceChoice({ source, onChange }: { source: string; onChange: (source: string) => void }) {
  const id = useId()
  const { data = [] } = useQuery(queries.sources())
  const known = data.some(({ name }) => name === source)
  return (
    <div className="field">
      <label htmlFor={id}>Source</label>
      <select id={id} className="input" value={source} onChange={(event) => onChange(event.target.value)}>
        {!known && <option>{source}</option>}
        {data.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </div>
  )
}

export function ProjectChoice({
  seen,
  project,
  onChange,
}: {
  /** Projects that have entries. */
  seen: readonly string[]
  project: string | undefined
  onChange: (project: string | undefined) => void
}) {
  const id = useId()
  const all = project !== undefined && !seen.includes(project) ? [project, ...seen] : seen
  return (
    <div className="field">
      <label htmlFor={id}>Project</label>
      <select
        id={id}
        className="input"
        value={project ?? ''}
        onChange={(event) => onChange(event.target.value || undefined)}
      >
        <option value="">All projects</option>
        {all.map((value) => (
          <option key={value}>{value}</option>
        ))}
      </select>
    </div>
  )
}

export function SearchField({ query, onSearch }: { query: string; onSearch: (query: string) => void }) {
  const id = useId()
  const [text, setText] = useState(query)
  useEffect(() => setText(query), [query])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSearch(text.trim())
  }
  return (
    <form className="field wide" onSubmit={submit}>
      <label htmlFor={id}>Search</label>
      <input
        id={id}
        className="input mono"
        type="search"
        spellCheck={false}
        placeholder="words  response.status_code:>=400  -request.method:GET"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </form>
  )
}
