/** Puts the text of an article in place of `[[name]]` in a prompt, and counts each article as one
 *  search unit: the receipt has a line for it. */
import { mapPromptText, PROMPT } from 'tollgate/formats'
import type { Plugin } from 'tollgate/plugin'
import { USAGE } from 'tollgate/slots'

export default {
  schema: {
    description: 'The articles: name and file, relative to routes.yaml.',
    type: 'object',
    additionalProperties: { type: 'string' },
    examples: [{ refunds: 'articles/refunds.md' }],
  },
  // It reads the prompt that `translate` decodes, and adds to the usage before `meter` reads it.
  after: ['meter', 'translate'],
  setup(files, host) {
    const articles = new Map(Object.entries(files).map(([name, path]) => [name, host.file(path)]))
    return {
      async handle(exchange, next) {
        const { slots } = exchange
        const names = new Set<string>()
        slots.need(PROMPT).change(prompt =>
          mapPromptText(prompt, text =>
            text.replace(/\[\[(\w+)\]\]/g, (match, name: string) => {
              const article = articles.get(name)
              if (article !== undefined) names.add(name)
              return article ?? match
            }),
          ),
        )
        await next()
        exchange.reply.through({
          write: (chunk, out) => out.write(chunk),
          end(tail, out) {
            const usage = slots.get(USAGE)
            if (usage && names.size > 0) {
              const meters = { ...usage.meters, search_units: names.size }
              slots.set(USAGE, { ...usage, meters })
            }
            out.end(tail)
          },
        })
      },
    }
  },
} satisfies Plugin<Readonly<Record<string, string>>>
