/** The keywords `maxLength` and `minLength`. Those of ajv count the characters of every text, which
 *  takes 16 ms for an image of 14 MB; its code units decide nearly always. */
import { _, type CodeKeywordDefinition, type KeywordCxt, str } from 'ajv/dist/ajv.js'

/** Characters; a pair of surrogates is one. */
const countCharacters = (text: string): number => {
  let count = 0
  for (let at = 0; at < text.length; at++, count++) if (Number(text.codePointAt(at)) > 0xffff) at++
  return count
}

type Code = ReturnType<typeof _>
/** `isWrong`: the condition by the code units, the limit, and the characters, which are counted
 *  only if it comes to them. */
const lengthKeyword = (
  keyword: string,
  bound: string,
  isWrong: (units: Code, limit: KeywordCxt['schemaCode'], characters: Code) => Code,
): CodeKeywordDefinition & { readonly keyword: string } => ({
  keyword,
  type: 'string',
  schemaType: 'number',
  // A pattern takes bounded time because the length was checked.
  before: 'pattern',
  error: {
    message: ({ schemaCode }) => str`must NOT have ${bound} than ${schemaCode} characters`,
    params: ({ schemaCode }) => _`{limit: ${schemaCode}}`,
  },
  code(context) {
    const { data, schemaCode, gen } = context
    const count = gen.scopeValue('func', { ref: countCharacters, key: countCharacters })
    context.fail(isWrong(_`${data}.length`, schemaCode, _`${count}(${data})`))
  },
})

export const textLength = [
  lengthKeyword(
    'maxLength',
    'more',
    (units, limit, characters) => _`${units} > ${limit} && ${characters} > ${limit}`,
  ),
  lengthKeyword(
    'minLength',
    'fewer',
    (units, limit, characters) =>
      _`${units} < ${limit} || ${units} < 2 * ${limit} && ${characters} < ${limit}`,
  ),
] as const
