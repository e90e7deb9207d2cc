import { type ReactNode, useDeferredValue } from 'react'
import { Link } from 'wouter'
import { BuiltIn } from '../ui/built-in/built-in-group.tsx'
import { Button } from '../ui/button.tsx'
import { Icon } from '../ui/icon.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { matches, SearchInput, wordsOf } from '../ui/search.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { useAddress } from '../ui/use-address.ts'

interface ListPageProps<T> {
  /** `Endpoints` */
  title: string
  about: string
  /** What the button for a new one says, and the address or the form that it opens. */
  create?: readonly [text: string, open: string | (() => void)] | undefined
  query: { data: readonly T[] | undefined; error: Error | null; refetch: () => unknown }
  /** What the search looks at, and what its field says about that. */
  textOf: (one: T) => string
  hint: string
  /** Beside the search. */
  tools?: ReactNode
  /** Shown if there are none at all. */
  empty: ReactNode
  children: (found: readonly T[], isSearch: boolean) => ReactNode
  /** Dialogs. */
  below?: ReactNode
}

/** Everything of a kind, with a search that the address holds. */
export function ListPage<T>(props: ListPageProps<T>) {
  const { title, about, create, query, textOf, hint, tools, empty, children, below } = props
  const [address, setAddress] = useAddress()
  const search = address.get('q') ?? ''
  // Keeps typing fast: the rows follow when there is time.
  const deferred = useDeferredValue(search)
  const words = wordsOf(deferred)
  return (
    <div className="page">
      <PageHead title={title} actions={create && <CreateButton text={create[0]} open={create[1]} />}>
        <p>{about}</p>
      </PageHead>
      {query.data?.length !== 0 && (
        <div className="list-tools">
          <SearchInput
            label={`Search ${title.toLowerCase()}`}
            placeholder={`Search by ${hint}`}
            value={search}
            onChange={(q) => setAddress({ q }, 'replace')}
          />
          {tools}
        </div>
      )}
      <Loaded query={query} what={`the ${title.toLowerCase()}`} height={240}>
        {(all) => {
          const found = all.filter((one) => matches(textOf(one), words))
          if (all.length === 0) return empty
          if (found.length > 0) return children(found, words.length > 0)
          return <Empty title={`Nothing matches “${deferred}”`}>Try fewer words.</Empty>
        }}
      </Loaded>
      {below}
    </div>
  )
}

function CreateButton({ text, open }: { text: string; open: string | (() => void) }) {
  const content = (
    <>
      <Icon name="plus" />
      {text}
    </>
  )
  return typeof open === 'string' ? (
    <Link className="button primary" href={open}>
      {content}
    </Link>
  ) : (
    <Button look="primary" onClick={open}>
      {content}
    </Button>
  )
}

interface GroupsProps<T> {
  found: readonly T[]
  isSearch: boolean
  isBuiltIn: (one: T) => boolean
  /** Whether built-in ones have data; undefined until it is known. */
  isFilled: boolean | undefined
  /** Shown if the user has none. */
  empty: ReactNode
  children: (list: readonly T[]) => ReactNode
}

/** What the user created, and below it what every service has. */
export function Groups<T>({ found, isSearch, isBuiltIn, isFilled, empty, children }: GroupsProps<T>) {
  const own = found.filter((one) => !isBuiltIn(one))
  const builtIn = found.filter(isBuiltIn)
  return (
    <>
      {own.length > 0 ? children(own) : !isSearch && empty}
      <BuiltIn count={builtIn.length} isFilled={isSearch || isFilled}>
        {children(builtIn)}
      </BuiltIn>
    </>
  )
}
