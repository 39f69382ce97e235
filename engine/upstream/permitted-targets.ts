/** The targets of one exchange: lists that stages set, without those that its rules forbid. */
import type { Exchange, Target } from '../plugin.ts'

export type TargetRule = Parameters<Exchange['restrict']>[0]

export class PermittedTargets {
  #list: readonly Target[]
  #rules: readonly TargetRule[] = NO_RULES

  constructor(list: readonly Target[]) {
    this.#list = list
  }
  get list(): readonly Target[] {
    return this.#list
  }
  /** Throws the fault of a rule that permits none. */
  replace(list: readonly Target[]): void {
    this.#list = this.#permitted(list)
  }
  /** Whether the rules permit a target that is not in the list. */
  permits(target: Target): boolean {
    try {
      return this.#permitted([target]).length > 0
    } catch {
      return false
    }
  }
  restrict(rule: TargetRule): void {
    this.#rules = [...this.#rules, rule]
    this.#list = rule(this.#list)
  }
  #permitted(list: readonly Target[]): readonly Target[] {
    return this.#rules.reduce((permitted, rule) => rule(permitted), list)
  }
}
const NO_RULES: readonly TargetRule[] = []
