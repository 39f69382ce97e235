/** The keywords `maxLength` and `minLength`. Those of ajv count the characters of every text, which
 *  takes 16 ms for an image of 14 MB; its code units decide nearly always. */
import { _, type CodeKeywordDefinition, type KeywordCxt, str } from 'ajv/dist/ajv.js'

/** Characters; a pair of surrogates is one. */
const countCharacters = (text: string): number => {
  let count = 0
  for (let at = 0; at < text.length; at++, count++) if (Number(text.codePointAt(at)) > 0xffff) at++
  return count
}
const counterIn = ({ gen }: KeywordCxt) =>
  gen.scopeValue('func', { ref: countCharacters, key: countCharacters })

/** `before`: a pattern takes bounded time because the length was checked. */
const KEYWORD = { type: 'string', schemaType: 'number', before: 'pattern' } as const
const params = ({ schemaCode }: Pick<KeywordCxt, 'schemaCode'>) => _`{limit: ${schemaCode}}`

export const textLength: readonly (CodeKeywordDefinition & { readonly keyword: string })[] = [
  {
    ...KEYWORD,
    keyword: 'maxLength',
    error: {
      message: ({ schemaCode }) => str`must NOT have more than ${schemaCode} characters`,
      params,
    },
    code(context) {
      const { data, schemaCode: limit } = context
      const count = counterIn(context)
      context.fail(_`${data}.length > ${limit} && ${count}(${data}) > ${limit}`)
    },
  },
  {
    ...KEYWORD,
    keyword: 'minLength',
    error: {
      message: ({ schemaCode }) => str`must NOT have fewer than ${schemaCode} characters`,
      params,
    },
    code(context) {
      const { data, schemaCode: limit } = context
      const count = counterIn(context)
      const isClose = _`${data}.length < 2 * ${limit} && ${count}(${data}) < ${limit}`
      context.fail(_`${data}.length < ${limit} || ${isClose}`)
    },
  },
]
