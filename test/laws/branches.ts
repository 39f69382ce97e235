/** The branches of a source file, and those that ran by V8's report of a process: both ways of each
 *  `if` (an absent `else` too), both arms of each `? :`, each `case`, each `catch`, and the right
 *  operand of each `&&`, `||` and `??`. V8 counts no `?.` and no default values. */
import { type Expression, parseSync, Visitor } from 'oxc-parser'
import { lineAt } from './imports.ts'
import type { Script } from './lines.ts'

export interface Branch {
  readonly line: number
  /** It ran if this offset ran. */
  readonly start: number
  /** For an absent `else`: the offset of the `if`, which ran more often than the branch at `start`
   *  if the condition was ever false. */
  readonly elseOf?: number
}
interface Node {
  readonly start: number
}

export const branchesOf = (path: string, text: string): Branch[] => {
  const branches: Branch[] = []
  const add = ({ start }: Node, elseOf?: Node): void => {
    const line = lineAt(text, (elseOf ?? { start }).start)
    branches.push(elseOf ? { line, start, elseOf: elseOf.start } : { line, start })
  }
  new Visitor({
    IfStatement(node) {
      add(node.consequent)
      if (node.alternate) add(node.alternate)
      else add(node.consequent, node)
    },
    ConditionalExpression(node) {
      add(node.consequent)
      add(node.alternate)
    },
    LogicalExpression(node) {
      if (node.operator !== '??' || !isConstant(node.right)) add(node.right)
    },
    SwitchCase: node => add(node),
    CatchClause: node => add(node.body),
  }).visit(parseSync(path.replace(/\.cjs$/, '.js'), text).program)
  return branches
}

/** A text, number, `null`, `undefined`, `Infinity`, an empty list or object. */
const isConstant = (node: Expression): boolean =>
  node.type === 'Literal' ||
  (node.type === 'Identifier' && /^(?:undefined|Infinity)$/.test(node.name)) ||
  (node.type === 'ArrayExpression' && node.elements.length === 0) ||
  (node.type === 'ObjectExpression' && node.properties.length === 0)

/** Whether each branch ran. */
export const branchesRun = (branches: readonly Branch[], { functions }: Script): boolean[] => {
  const ranges = functions
    .flatMap(each => each.ranges.map((range, index) => ({ ...range, isFunction: index === 0 })))
    .sort((a, b) => a.endOffset - a.startOffset - (b.endOffset - b.startOffset))
  /** How often the code here ran: the count of the smallest range around it. The range of a
   *  function that begins here counts calls of that function, so it is passed over. */
  const countAt = (offset: number): number =>
    ranges.find(
      ({ startOffset, endOffset, isFunction }) =>
        startOffset <= offset &&
        offset < endOffset &&
        !(isFunction && startOffset === offset && offset > 0),
    )?.count ?? 0
  return branches.map(({ start, elseOf }) =>
    elseOf === undefined ? countAt(start) > 0 : countAt(elseOf) > countAt(start),
  )
}
