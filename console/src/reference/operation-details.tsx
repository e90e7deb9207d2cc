import { useState } from 'react'
import { InlineCode } from '../ui/inline-code.tsx'
import { Table } from '../ui/table.tsx'
import {
  type ApiDocument,
  bodyFields,
  type FieldSchema,
  type Operation,
  resolved,
  typeText,
} from './api-document.ts'
import { TryIt } from './try-it.tsx'

interface OperationDetailsProps {
  document: ApiDocument
  operation: Operation
  token: string
}

/** What an operation takes and returns, shown on demand. A link to its id opens it. */
export function OperationDetails({ document, operation, token }: OperationDetailsProps) {
  const { operationId, method, path, summary, description } = operation
  const [isOpen, setOpen] = useState(() => location.hash === `#${operationId}`)
  return (
    <details
      id={operationId}
      className="operation"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <code className={`method ${method.toLowerCase()}`}>{method}</code>
        <code>{path}</code>
        {/* A saved endpoint has its name in the path already. */}
        {!path.endsWith(`/${summary}`) && (
          <span className="soft">
            <InlineCode text={summary} />
          </span>
        )}
      </summary>
      {isOpen && (
        <div className="stack">
          {description.split('\n\n').map((text) => (
            <p key={text}>
              <InlineCode text={text} />
            </p>
          ))}
          <Fields title="Parameters" fields={operation.parameters ?? []} />
          <Fields title="Body" fields={bodyFields(document, operation)} />
          <h3>Responses</h3>
          <Table columns={[['Status'], ['Meaning']]}>
            {Object.entries(operation.responses).map(([status, response]) => (
              <tr key={status}>
                <td>
                  <code>{status === 'default' ? 'other' : status}</code>
                </td>
                <td>
                  <InlineCode text={(resolved(document, response) as { description: string }).description} />
                </td>
              </tr>
            ))}
          </Table>
          <TryIt operation={operation} token={token} />
        </div>
      )}
    </details>
  )
}

interface FieldsProps {
  title: string
  fields: readonly {
    name: string
    in?: string
    schema: FieldSchema
    description: string
    required?: boolean
  }[]
}

function Fields({ title, fields }: FieldsProps) {
  if (fields.length === 0) return null
  return (
    <>
      <h3>{title}</h3>
      <Table columns={[['Name'], ['Type'], ['Meaning']]}>
        {fields.map(({ name, in: place, schema, description, required }) => (
          <tr key={name}>
            <td>
              <code>{name}</code>
              {place !== undefined && place !== 'query' && <div className="under">in the {place}</div>}
            </td>
            <td>
              <InlineCode text={typeText(schema)} />
            </td>
            <td>
              <InlineCode text={`${required ? 'Required. ' : ''}${description}`} />
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}
