import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { api, at } from '../../api/api.ts'
import { invalidate, queries } from '../../api/queries.ts'
import type { SavedSearch } from '../../api/shapes.ts'
import { useMayChange } from '../../api/use-may-change.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Form, TextField } from '../../ui/fields.tsx'
import { Failure, Loaded } from '../../ui/states.tsx'

type SearchFields = Pick<SavedSearch, 'source' | 'query' | 'project' | 'range'>

/** Saves the current search, and lists the saved ones of all admins. */
export function SavedSearches({ current }: { current: SearchFields }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Saved searches
      </Button>
      {open && (
        <Dialog close="Close" title="Saved searches" onClose={() => setOpen(false)}>
          <SaveForm current={current} />
          <SavedList onOpen={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  )
}

function SaveForm({ current }: { current: SearchFields }) {
  const [name, setName] = useState('')
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => api<SavedSearch>('/api/searches', { body: { ...current, name: name.trim() } }),
    onSuccess: () => {
      setName('')
      invalidate('searches')
    },
  })
  return (
    <Form className="stack" onSubmit={() => mutate()}>
      <div className="save-search">
        <TextField
          label="Name of the current search"
          note={<code>{describe(current)}</code>}
          value={name}
          maxLength={100}
          onChange={setName}
        />
        <Button type="submit" look="primary" disabled={isPending || name.trim() === ''}>
          Save
        </Button>
      </div>
      {error && <Failure error={error} />}
    </Form>
  )
}

function SavedList({ onOpen }: { onOpen: () => void }) {
  const saved = useQuery(queries.searches())
  const mayChange = useMayChange()
  const { mutate, error } = useMutation({
    mutationFn: (id: string) => api(`/api/searches/${at(id)}`, { method: 'DELETE' }),
    onSettled: () => invalidate('searches'),
  })
  return (
    <>
      {error && <Failure error={error} />}
      <Loaded query={saved} what="saved searches" height={80}>
        {(searches) =>
          searches.length === 0 ? (
            <p className="faint">No searches are saved yet.</p>
          ) : (
            <ul className="saved-searches">
              {searches.map((search) => (
                <li key={search.id}>
                  <Link href={addressOf(search)} onClick={onOpen}>
                    {search.name}
                  </Link>
                  <code className="faint">{describe(search)}</code>
                  {mayChange && (
                    <Button
                      look="small danger"
                      aria-label={`Delete ${search.name}`}
                      onClick={() => mutate(search.id)}
                    >
                      Delete
                    </Button>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </>
  )
}

function describe({ source, query, project, range }: SearchFields): string {
  return [source, project, range && `last ${range}`, query].filter(Boolean).join(' · ')
}

function addressOf({ source, query, project, range }: SavedSearch): string {
  const values = {
    source,
    ...(query !== '' && { q: query }),
    ...(project !== null && { project }),
    ...(range !== null && { range }),
  }
  return `/console/logs?${new URLSearchParams(values)}`
}
