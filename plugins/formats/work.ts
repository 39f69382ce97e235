/** What a hosted tool did, told in words: for a provider that knows nothing of the one who ran it. */
import type { Loss } from './codec.ts'
import type { Text, Work } from './content.ts'
import { isFields } from './fields.ts'

/** Undefined where it is a word of one provider to its own model, of which nothing can be told: then it is lost. */
export const retold = (work: Work, loss: Loss): Text | undefined => {
  const { tool, output, found } = work
  if (tool !== 'other' || output !== undefined || found !== undefined) return told(work)
  loss.drop(calledAs(work))
  return undefined
}
/** As its provider calls it: by its type, or by the only member of what holds it. */
const calledAs = ({ raw, tool }: Work): string => {
  const [item] = raw?.items ?? []
  if (!isFields(item)) return tool
  return typeof item.type === 'string' ? item.type : (Object.keys(item)[0] ?? tool)
}

const told = ({ tool, input, output, found = [], failed }: Work): Text => {
  const lines = [`[${tool}] ${said(input)}`]
  for (const { title, url } of found)
    lines.push(`- ${title ?? url ?? ''}${title && url ? `: ${url}` : ''}`)
  if (output !== undefined) lines.push(said(output))
  if (failed !== undefined) lines.push(`failed: ${failed}`)
  return { type: 'text', text: lines.join('\n') }
}
const said = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
