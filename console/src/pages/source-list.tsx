export default function SourceList() { return null }
