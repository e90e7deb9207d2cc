/** Why the service did not understand the query, with the place marked. */
export function SearchProblem({ id, query, error }: { id: string; query: string; error: Error }) {
  const place = Number(/ at character (\d+)/.exec(error.message)?.[1]) - 1
  return (
    <div id={id} className="problem" role="alert">
      <p>{error.message}</p>
      {place >= 0 && (
        <p className="mono">
          {query.slice(0, place)}
          <mark>{query.slice(place) || '\u00a0'}</mark>
        </p>
      )}
    </div>
  )
}
