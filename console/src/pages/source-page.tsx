export default function SourcePage({ name }: { name: string }) { return <p>{name}</p> }
