import { useCallback } from 'react'
import { ApiError } from '../data/api.ts'
import type { CallableEndpoint, Whoami } from '../data/api-types.ts'
import { callEndpoint } from '../data/call-endpoint.ts'
import { useAddress } from '../data/use-address.ts'
import { useParameterValues } from '../data/use-parameter-values.ts'
import { useRun } from '../data/use-run.ts'
import { EndpointResult, type ResultView } from './endpoint-result.tsx'
import { Icon } from './icon.tsx'
import { PageHead } from './page-head.tsx'
import { ParameterForm } from './parameter-form.tsx'

/** For whoever may call an endpoint and not change it. */
export function EndpointCaller({ endpoint, who }: { endpoint: CallableEndpoint; who: Whoami }) {
  const { name, description, parameters, columns } = endpoint
  const [address, setAddress] = useAddress()
  const { values, change } = useParameterValues(parameters)
  const { run, start } = useRun(
    useCallback((signal) => callEndpoint(name, values, { signal }), [name, values]),
  )
  const error = run.state === 'failed' && run.error instanceof ApiError ? run.error : undefined
  return (
    <div className="page">
      <PageHead title={name}>
        <p>{description}</p>
      </PageHead>
      <form
        className="card card-body"
        onSubmit={(event) => {
          event.preventDefault()
          start()
        }}
      >
        <div className="form-grid">
          <ParameterForm
            parameters={parameters}
            fixed={Object.fromEntries(Object.entries(who.parameters))}
            values={values}
            problem={
              error?.parameter === undefined
                ? undefined
                : { parameter: error.parameter, message: error.message }
            }
            seenAt={() => undefined}
            onChange={change}
          />
        </div>
        <div>
          <button type="submit" className="button primary">
            <Icon name="run" />
            Run
          </button>
        </div>
      </form>
      <EndpointResult
        run={run}
        columns={columns}
        name={name}
        values={values}
        view={(address.get('_view') as ResultView | null) ?? 'table'}
        onView={(view) => setAddress({ _view: view === 'table' ? undefined : view }, 'replace')}
      />
    </div>
  )
}
