import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { findValues } from '../../api/entry-search.ts'
import { useSettled } from '../../query/use-settled.ts'
import { TextField } from '../../ui/fields.tsx'

interface ProjectFieldProps {
  source: string
  /** Since when the offered projects have entries. */
  fromMs: number
  project: string | undefined
  onChange: (project: string | undefined) => void
}

const pauseMs = 200

/** A project to search in. The field finds all of them, and offers the most frequent ones that contain what is typed. */
export function ProjectField({ source, fromMs, project = '', onChange }: ProjectFieldProps) {
  const [text, setText] = useState(project)
  useEffect(() => setText(project), [project])
  const wanted = useSettled(text === project ? '' : text.trim(), pauseMs)
  const minute = Math.floor(fromMs / 60_000) * 60_000
  const { data: offered = [] } = useQuery({
    queryKey: ['values', source, 'project', wanted, minute],
    queryFn: ({ signal }) =>
      findValues(
        { source, project: undefined, query: '', fromMs: minute },
        { path: 'project', search: wanted },
        signal,
      ),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  })
  const names = offered.map(({ value }) => value).filter((name) => name !== '')
  const choose = (name: string) => {
    if (name !== project) onChange(name || undefined)
  }
  return (
    <>
      <TextField
        label="Project"
        list="log-projects"
        placeholder="All projects"
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(typed) => {
          setText(typed)
          // An offered name is chosen, not typed on.
          if (typed === '' || (names.includes(typed) && Math.abs(typed.length - text.length) > 1))
            choose(typed)
        }}
        onKeyDown={({ key }) => {
          if (key === 'Enter') choose(text.trim())
          if (key === 'Escape') setText(project)
        }}
        onBlur={() => choose(text.trim())}
      />
      <datalist id="log-projects">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}
