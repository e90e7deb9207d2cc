import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/api.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { Person, Whoami } from '../api/shapes.ts'
import { ListPage } from '../definitions/list-page.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Empty } from '../ui/states.tsx'
import { Breakable, NameLink, Table } from '../ui/table.tsx'
import { ago, counted } from '../ui/text/format.ts'

const columns = [
  ['Person'],
  ['Access', 'optional'],
  ['Last seen', 'optional right'],
  ['Sessions', 'right'],
] as const

/** There can be many customers. */
const maxShown = 500

export default function PeoplePage({ who }: { who: Whoami }) {
  const query = useQuery(queries.people())
  const [ending, setEnding] = useState<Person>()
  return (
    <ListPage
      title="People"
      about="Everybody who has signed in with their account. Their groups at the issuer decide what they can do."
      query={query}
      textOf={(person) => [person.name, person.email, accessOf(person)].join(' ')}
      hint="name, email, role or project"
      empty={
        <Empty title="Nobody has signed in yet">
          <p>People appear here once they have signed in with their account.</p>
        </Empty>
      }
      below={
        ending && (
          <EndSessions person={ending} isSelf={ending.id === who.id} onClose={() => setEnding(undefined)} />
        )
      }
    >
      {(found) => (
        <>
          <Table columns={columns}>
            {found.slice(0, maxShown).map((person) => (
              <PersonRow
                key={person.id}
                person={person}
                isSelf={person.id === who.id}
                onEnd={() => setEnding(person)}
              />
            ))}
          </Table>
          <p className="faint" role="status">
            {found.length > maxShown
              ? `The first ${maxShown} of ${counted(found.length, 'person', 'people')}. Search for others.`
              : counted(found.length, 'person', 'people')}
          </p>
        </>
      )}
    </ListPage>
  )
}

function accessOf({ role, project }: Person): string {
  return project === null ? (role ?? 'no role') : `tenant, project ${project}`
}

function PersonRow({ person, isSelf, onEnd }: { person: Person; isSelf: boolean; onEnd: () => void }) {
  const { id, name, email, role, project, last_seen } = person
  const access = accessOf(person)
  return (
    <tr>
      <td>
        <div className="row">
          <NameLink href={`/console/audit?q=${encodeURIComponent(`actor_id:${id}`)}`} name={name} />
          {isSelf && <span className="badge">you</span>}
        </div>
        {email !== null && email !== name && (
          <div className="under">
            <Breakable text={email} />
          </div>
        )}
        <div className="under narrow-only">
          {access}
          <br />
          Last seen: {ago(last_seen)}
        </div>
      </td>
      <td className="optional">{access}</td>
      <td className="optional right" title={last_seen}>
        {ago(last_seen)}
      </td>
      <td className="right">
        {(role !== null || project !== null) && (
          <Button look="small danger" aria-label={`End sessions of ${name}`} onClick={onEnd}>
            End sessions
          </Button>
        )}
      </td>
    </tr>
  )
}

interface EndSessionsProps {
  person: Person
  isSelf: boolean
  onClose: () => void
}

function EndSessions({ person: { id, name }, isSelf, onClose }: EndSessionsProps) {
  const end = useMutation({
    mutationFn: () => api(`/api/people/${id}/sessions`, { method: 'DELETE' }),
    onSuccess: () => {
      onClose()
      invalidate('people', 'whoami')
    },
  })
  return (
    <Confirm title={`End all sessions of ${name}?`} action="End sessions" mutation={end} onClose={onClose}>
      <p>
        {isSelf ? 'You are signed out here and everywhere else.' : `${name} is signed out everywhere.`} Links
        to dashboards that {isSelf ? 'you' : 'they'} created end, too. To prevent another sign-in, block the
        account at the issuer, or remove it from its groups.
      </p>
    </Confirm>
  )
}
