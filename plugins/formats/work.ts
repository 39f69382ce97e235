/** What a hosted tool did, told in words: for a provider that knows nothing of the one who ran it. */
import type { Text, Work } from './content.ts'

export const told = ({ tool, input, output, found = [], failed }: Work): Text => {
  const lines = [`[${tool}] ${said(input)}`]
  for (const { title, url } of found)
    lines.push(`- ${title ?? url ?? ''}${title && url ? `: ${url}` : ''}`)
  if (output !== undefined) lines.push(said(output))
  if (failed !== undefined) lines.push(`failed: ${failed}`)
  return { type: 'text', text: lines.join('\n') }
}
const said = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
