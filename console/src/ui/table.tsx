import { Fragment, type ReactNode } from 'react'
import { Link } from 'wouter'

interface TableProps {
  /** Titles, each with the class of its cells where it has one. */
  columns: readonly (readonly [title: string, className?: string])[]
  /** Names a table that can be scrolled. */
  label?: string
  className?: string
  children: ReactNode
}

export function Table({ columns, label, className = '', children }: TableProps) {
  const region = label === undefined ? {} : { role: 'region', 'aria-label': label, tabIndex: 0 }
  return (
    <div className={`table-box ${className}`} {...region}>
      <table className="table">
        <thead>
          <tr>
            {columns.map(([title, cells]) =>
              // An empty head would be read as one without a name.
              title === '' ? (
                <td key={title} className={cells} />
              ) : (
                <th key={title} scope="col" className={cells}>
                  {title}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

/** A link to the page of what a row shows. */
export function NameLink({ href, name }: { href: string; name: string }) {
  return (
    <Link className="name" href={href}>
      <Breakable text={name} />
    </Link>
  )
}

/** A name that can be wrapped after its dots and underscores, and nowhere else. */
export function Breakable({ text }: { text: string }) {
  const pieces = text.split(/(?<=[._:/-])/)
  return pieces.map((piece, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text have no other name
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {piece}
    </Fragment>
  ))
}
